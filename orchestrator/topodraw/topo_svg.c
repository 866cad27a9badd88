/* topo_svg.c - draw a node's GPUs, NVLink and HCAs.
 *
 * place computes the layout: NVLink on top, then the row of GPUs, then the row
 * of HCAs. topo_svg draws lines first, so that boxes cover their ends. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topodraw/topodraw.h"

/* Sizes in pixels. */
#define BOX_W 92
#define BOX_H 46
#define GAP 14
#define MARGIN 16
#define NVLINK_H 74 /* above the GPUs: arcs, or the bar of the switch */
#define WIRE_H 76   /* between GPUs and HCAs */
#define MIN_W 680

/* The layout. */
struct drawing {
    const struct topo *topo;
    FILE *out;
    /* of the picture, and the tops of the two rows of boxes */
    int width, height, gpu_y, hca_y, nvlink_h;
    /* left edges of the boxes */
    int gpu_x[TOPO_MAX_GPUS], hca_x[TOPO_MAX_HCAS];
};

/* Writes text with XML escapes. The model's texts are printable ASCII. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else
            fputc(*text, out);
    }
}

/* The package of a GPU or an HCA; -1: unknown. */
static int package_at(const struct topo *t, bool hca, size_t i)
{
    return hca ? t->hcas[i].package : t->gpus[i].package;
}

/* Places a row of boxes: packages in order, devices in PCI order within each.
 * Returns the right edge. Package -1 is unknown. */
static int place_row(const struct topo *t, bool hca, int *left)
{
    size_t n = hca ? t->n_hcas : t->n_gpus;
    /* most: the largest package number */
    int x = MARGIN + GAP, most = -1;

    for (size_t i = 0; i < n; i++)
        if (package_at(t, hca, i) > most)
            most = package_at(t, hca, i);
    for (int package = -1; package <= most; package++) {
        bool any = false;

        for (size_t i = 0; i < n; i++) {
            if (package_at(t, hca, i) != package)
                continue;
            left[i] = x;
            x += BOX_W + GAP;
            any = true;
        }
        /* a gap between packages */
        x += any ? GAP : 0;
    }
    return x;
}

/* Whether any two GPUs have direct links. */
static bool has_direct(const struct topo *t)
{
    for (size_t i = 0; i < t->n_gpus * t->n_gpus; i++)
        if (t->direct[i])
            return true;
    return false;
}

/* Whether any GPU has links to a switch. */
static bool has_switched(const struct topo *t)
{
    for (size_t i = 0; i < t->n_gpus; i++)
        if (t->gpus[i].switch_mbs)
            return true;
    return false;
}

/* Computes all positions; the narrower row is centred. */
static void place(struct drawing *d)
{
    int gpus = place_row(d->topo, false, d->gpu_x);
    int hcas = place_row(d->topo, true, d->hca_x);
    int *narrow = gpus < hcas ? d->gpu_x : d->hca_x;
    size_t n = gpus < hcas ? d->topo->n_gpus : d->topo->n_hcas;
    int shift = (gpus < hcas ? hcas - gpus : gpus - hcas) / 2;

    for (size_t i = 0; i < n; i++)
        narrow[i] += shift;
    d->width = (gpus > hcas ? gpus : hcas) + MARGIN;
    d->width = d->width < MIN_W ? MIN_W : d->width;
    /* Arcs need twice the height of a bar. */
    d->nvlink_h = has_direct(d->topo)     ? NVLINK_H * 2
                  : has_switched(d->topo) ? NVLINK_H
                                          : 24;
    d->gpu_y = 36 + d->nvlink_h;
    d->hca_y = d->gpu_y + BOX_H + WIRE_H;
    /* Without HCAs their row is left out; 42 is the legend. */
    d->height = d->hca_y + (d->topo->n_hcas ? BOX_H + 16 : -WIRE_H + 16) + 42;
}

/* Colours come from the page's variables; the values after the comma are for a
 * picture that stands alone. */
static void put_style(FILE *out)
{
    /* One class per kind of shape: g GPU, h HCA, d down, p package, n NVLink, w
     * wire. */
    fputs("<style>"
          ".jt{font:12px system-ui,sans-serif;fill:var(--text,#1c2530)}"
          ".jt .s{font-size:10.5px;fill:var(--soft,#5a6675)}"
          ".jt .g{fill:var(--bar,#cfe0f5);stroke:var(--link,#0b5cad)}"
          ".jt .h{fill:var(--card,#fff);stroke:var(--ok,#1b7f4b)}"
          ".jt .u{stroke-dasharray:4 3}"
          ".jt .d{fill:var(--stripe,#f3f5f8);stroke:var(--soft,#5a6675);"
          "stroke-dasharray:3 3}"
          ".jt .p{fill:none;stroke:var(--line,#dde2e8)}"
          ".jt .n{stroke:var(--link,#0b5cad);fill:none}"
          ".jt .b{fill:var(--link,#0b5cad)}"
          ".jt .i{fill:var(--card,#fff)}"
          ".jt .w{stroke:var(--ok,#1b7f4b);fill:none;stroke-width:1.6}"
          ".jt .f{stroke:var(--bad,#b3261e)}"
          "</style>\n",
          out);
}

/* The middle of a box. */
static int middle(int left)
{
    return left + BOX_W / 2;
}

/* Draws a frame around the devices of each package, if packages are known. */
static void put_packages(struct drawing *d, bool hca)
{
    const struct topo *t = d->topo;
    size_t n = hca ? t->n_hcas : t->n_gpus;
    const int *x = hca ? d->hca_x : d->gpu_x;
    int y = hca ? d->hca_y : d->gpu_y;

    /* Packages without a device of this row have no frame. */
    for (unsigned package = 0; package < 64; package++) {
        int from = -1, to = -1;

        for (size_t i = 0; i < n; i++) {
            if (package_at(t, hca, i) != (int) package)
                continue;
            from = from < 0 || x[i] < from ? x[i] : from;
            to = x[i] + BOX_W > to ? x[i] + BOX_W : to;
        }
        if (from < 0)
            continue;
        fprintf(d->out,
                "<rect class=\"p\" x=\"%d\" y=\"%d\" width=\"%d\" "
                "height=\"%d\" rx=\"8\"/>",
                from - 8, y - (hca ? 8 : 20), to - from + 16, BOX_H + 28);
        fprintf(d->out, "<text class=\"s\" x=\"%d\" y=\"%d\">pkg %u</text>\n",
                from - 2, hca ? y + BOX_H + 14 : y - 8, package);
    }
}

/* NVSwitch is drawn as one bar over all GPUs. */
static void put_bar(struct drawing *d)
{
    const struct topo *t = d->topo;
    int y = 40, h = 22;
    char speed[48] = "NVSwitch";

    for (size_t i = 0; i < t->n_gpus; i++) {
        /* A MIG device does not use NVLink. */
        if (!t->gpus[i].switch_mbs || t->gpus[i].mig)
            continue;
        if (t->gpus[i].switch_mbs >= 1000)
            snprintf(speed, sizeof(speed), "NVSwitch, %.4g GB/s a GPU each way",
                     (double) t->gpus[i].switch_mbs / 1000);
        fprintf(d->out,
                "<line class=\"n\" stroke-width=\"4\" x1=\"%d\" y1=\"%d\" "
                "x2=\"%d\" y2=\"%d\"/>\n",
                middle(d->gpu_x[i]), y + h, middle(d->gpu_x[i]), d->gpu_y);
    }
    fprintf(d->out,
            "<rect class=\"b\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
            "rx=\"5\"/><text class=\"i\" x=\"%d\" y=\"%d\" "
            "text-anchor=\"middle\">%s</text>\n",
            MARGIN, y, d->width - 2 * MARGIN, h, d->width / 2, y + 15, speed);
}

/* Draws direct links as arcs. The width is relative to the fastest pair. */
static void put_arcs(struct drawing *d)
{
    const struct topo *t = d->topo;
    uint64_t most = 1;

    for (size_t i = 0; i < t->n_gpus * t->n_gpus; i++)
        most = t->direct[i] > most ? t->direct[i] : most;
    for (size_t i = 0; i < t->n_gpus; i++) {
        for (size_t k = i + 1; k < t->n_gpus; k++) {
            uint64_t mbs = t->direct[i * t->n_gpus + k];
            int x1 = middle(d->gpu_x[i]), x2 = middle(d->gpu_x[k]);
            double share = (double) abs(x2 - x1) / d->width;

            if (!mbs)
                continue;
            fprintf(d->out,
                    "<path class=\"n\" stroke-width=\"%.1f\" opacity=\"0.75\" "
                    "d=\"M%d %d Q%d %.0f %d %d\"><title>GPU%zu-GPU%zu: %.4g "
                    "GB/s each way</title></path>\n",
                    1 + 3 * (double) mbs / (double) most, x1, d->gpu_y,
                    (x1 + x2) / 2,
                    /* The height grows with the root of the distance, which
                     * keeps long arcs inside the picture. */
                    d->gpu_y - 30 - (2 * d->nvlink_h - 60) * sqrt(share), x2,
                    d->gpu_y, i, k, (double) mbs / 1000);
        }
    }
}

/* text: the ranks on the GPU; without any, the bus id is shown. */
static void put_gpu(struct drawing *d, size_t i, const char *text)
{
    static const char *const vendors[TOPO_N_VENDORS] = {"", " (AMD)",
                                                        " (Intel)", ""};
    const struct topo_gpu *g = &d->topo->gpus[i];
    int x = d->gpu_x[i], y = d->gpu_y;

    fprintf(d->out,
            "<rect class=\"g%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
            "rx=\"5\"><title>GPU%zu ",
            g->links == TOPO_LINKS_UNKNOWN ? " u" : "", x, y, BOX_W, BOX_H, i);
    put_text(d->out, g->busid);
    fputc(' ', d->out);
    put_text(d->out, g->model);
    fprintf(d->out,
            "</title></rect><text x=\"%d\" y=\"%d\" text-anchor=\"middle\">"
            "GPU%zu%s</text>",
            middle(x), y + 18, i, g->mig ? " (MIG)" : vendors[g->vendor]);
    fprintf(d->out,
            "<text class=\"s\" x=\"%d\" y=\"%d\" "
            "text-anchor=\"middle\">",
            middle(x), y + 35);
    /* A picture of the machine alone shows addresses. */
    put_text(d->out, text && *text ? text : g->busid);
    fputs("</text>\n", d->out);
}

/* Draws an HCA; dashed unless its port is active. */
static void put_hca(struct drawing *d, size_t i)
{
    static const char *const ports[] = {", port?", ", down", ""};
    const struct topo_hca *h = &d->topo->hcas[i];
    int x = d->hca_x[i], y = d->hca_y;

    fprintf(d->out,
            "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
            "rx=\"5\"/><text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
            h->narrow                      ? "d"
            : h->port == TOPO_PORT_ACTIVE  ? "h"
            : h->port == TOPO_PORT_UNKNOWN ? "h u"
                                           : "d",
            x, y, BOX_W, BOX_H, middle(x), y + 18);
    put_text(d->out, h->name);
    fprintf(d->out,
            "</text><text class=\"s\" x=\"%d\" y=\"%d\" "
            "text-anchor=\"middle\">%s%s</text>\n",
            middle(x), y + 35, topo_net_word[h->net],
            h->narrow ? ", managing" : ports[h->port]);
}

/* Draws lines from a GPU to its HCAs; the first one has the level. */
static void put_wire(struct drawing *d, size_t i)
{
    const struct topo_near *near = &d->topo->near[i];
    int x1 = middle(d->gpu_x[i]), y1 = d->gpu_y + BOX_H;
    /* Drawn red. */
    bool far = near->level >= TOPO_SYS;

    for (unsigned k = 0; k < near->nics.n; k++) {
        int x2 = middle(d->hca_x[near->nics.hca[k]]);

        fprintf(d->out, "<path class=\"w%s\" d=\"M%d %d C%d %d %d %d %d %d\"/>",
                far ? " f" : "", x1, y1, x1, y1 + 44, x2, d->hca_y - 44, x2,
                d->hca_y);
    }
    if (near->nics.n)
        fprintf(d->out, "<text class=\"s\" x=\"%d\" y=\"%d\">%s</text>\n",
                x1 + 5, y1 + 16, topo_level_word[near->level]);
}

/* Explains lines and dashes. */
static void put_legend(struct drawing *d)
{
    fprintf(d->out,
            "<text class=\"s\" x=\"%d\" y=\"%d\">Lines below: the HCAs a GPU "
            "uses, and how far they are (red: another NUMA node). Dashed: "
            "NVLinks or port unknown, port down or for management.</text>\n",
            MARGIN, d->height - 12);
}

void topo_svg(const struct topo *topo, const char *const *gpu_text,
              const char *title, FILE *out)
{
    struct drawing d = {.topo = topo, .out = out};

    place(&d);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"jt\" "
            "role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">"
            "<title>",
            d.width, d.height, d.width, d.height);
    put_text(out, title);
    fputs("</title>\n", out);
    put_style(out);
    fprintf(out, "<text x=\"%d\" y=\"20\">", MARGIN);
    put_text(out, title);
    fputs("</text>\n", out);
    /* A node may have both, as with partial NVLink. */
    if (has_direct(topo))
        put_arcs(&d);
    if (has_switched(topo))
        put_bar(&d);
    put_packages(&d, false);
    put_packages(&d, true);
    for (size_t i = 0; i < topo->n_gpus; i++)
        put_wire(&d, i);
    for (size_t i = 0; i < topo->n_gpus; i++)
        put_gpu(&d, i, gpu_text ? gpu_text[i] : NULL);
    for (size_t i = 0; i < topo->n_hcas; i++)
        put_hca(&d, i);
    put_legend(&d);
    fputs("</svg>\n", out);
}
