/* test_copper_node.c - the parts of Copper's runner on a node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/file.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "plugins/copper/copper_flags.h"
#include "plugins/copper/copper_mount.h"
#include "plugins/copper/copper_work.h"
#include "tests/common/skip.h"
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))
#define HEAD "36 35 0:50 / "

static void test_mountinfo(void **state)
{
    static const struct {
        const char *line, *point, *type;
        bool users; /* of uid 1000 */
    } rows[] = {
        {"", NULL, NULL, false},
        {HEAD "/mnt rw", NULL, NULL, false},
        {HEAD "/mnt rw -", NULL, NULL, false},
        {HEAD "/mnt rw - fuse", NULL, NULL, false},
        {HEAD "/mnt rw - fuse  rw", NULL, NULL, false},
        {HEAD " rw - fuse x rw", NULL, NULL, false},
        {HEAD "/mnt rw - ext4 /dev/x", "/mnt", "ext4", false},
        {HEAD "/- - - - fuse x user_id=1000", "/-", "-", false},
        {HEAD "/a\\040b rw shared:1 - fuse.cu_fuse x rw,user_id=1000,g=1\n",
         "/a b", "fuse.cu_fuse", true},
        {HEAD "/a\\0\\400\\000 rw - fuse x user_id=1000", "/a\\0\\400\\000",
         "fuse", true},
        {HEAD "/m rw - fuse x rw,user_id=10001", "/m", "fuse", false},
        {HEAD "/m rw - fuse x rw,xuser_id=1000", "/m", "fuse", false},
        {HEAD "/m rw - fuse x rw,user_id=", "/m", "fuse", false},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        struct copper_mountinfo mount;
        char *line = strdup(rows[i].line);
        bool yes = copper_mountinfo_parse(line, &mount);

        if (yes != (rows[i].point != NULL))
            fail_msg("\"%s\": %d", rows[i].line, yes);
        if (yes) {
            assert_string_equal(mount.point, rows[i].point);
            assert_string_equal(mount.type, rows[i].type);
            assert_int_equal(copper_mountinfo_is_users(&mount, 1000),
                             rows[i].users);
        }
        free(line);
    }
}

static void test_cmdline(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        const char *logs, *view, *last;
    } rows[] = {
#define ROW(text) text, sizeof(text)
        {"", 0, NULL, NULL, NULL},
        {ROW("bash\0-vpath\0/m"), NULL, NULL, NULL},
        {ROW("/opt/cu_fuse2\0/m"), NULL, NULL, NULL},
        {ROW("cu_fuse"), NULL, NULL, ""},
        {ROW("/opt/cu_fuse\0-vpath"), NULL, NULL, "-vpath"},
        {ROW("cu_fuse\0-f\0-log_output_dir\0/l\0-vpath\0/m\0/n"), "/l", "/m",
         "/n"},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        struct copper_cmdline line;
        int rc = copper_cmdline_parse(rows[i].text, rows[i].len, &line);

        assert_int_equal(rc, rows[i].last ? 0 : -1);
        if (rc < 0)
            continue;
        assert_string_equal(line.last ? line.last : "", rows[i].last);
        assert_string_equal(line.logs ? line.logs : "",
                            rows[i].logs ? rows[i].logs : "");
        assert_string_equal(line.view ? line.view : "",
                            rows[i].view ? rows[i].view : "");
    }
}

static void test_cores(void **state)
{
    static const struct {
        const char *text;
        int n; /* 0: refused */
    } rows[] = {{"", 0},    {"x", 0},      {"3-1", 0}, {"1,,2", 0},
                {"1-", 0},  {"99999", 0},  {"0", 1},   {"1,2", 2},
                {"0-3", 4}, {"0-3,2,8", 5}};

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        struct jp_error err;
        cpu_set_t set;

        CPU_ZERO(&set);
        assert_int_equal(copper_flags_cores(rows[i].text, &set, &err),
                         rows[i].n ? 0 : -1);
        assert_int_equal(CPU_COUNT(&set), rows[i].n);
    }
}

static void test_no_target(void **state)
{
    struct copper_target target;
    struct jp_error err = {""};

    (void) state;
    assert_int_equal(copper_target_find("/nonexistent", &target, &err), -1);
    assert_string_equal(err.text,
                        "/nonexistent: no Copper mount of yours on this "
                        "node");
}

#define BEGIN                                                                  \
    "/opt/cu_fuse -f -tpath / -vpath /m -log_output_dir /l -log_level 1 "      \
    "-log_type file"
#define END " -s /m"
#define BOOK(net)                                                              \
    " -net_type " net " -nf /n -facility_address_book /b "                     \
    "-prefiltered_address_book 1"
#define TCP                                                                    \
    " -net_type tcp -facility_address_book /b -prefiltered_address_book 1 "    \
    "-addr_write_sync_time 0"
#define CACHE " -md_enoent_ttl_ms 2000 -max_cacheable_byte_size 10485760"

/* "KEY=VALUE KEY=VALUE ..." and the arguments of cu_fuse made from it. */
static void test_flags(void **state)
{
    static const struct {
        const char *settings, *words;
    } rows[] = {
        {"mode=aggregate", BEGIN TCP CACHE " -profile_metrics" END},
        {"mode=aggregate;top=5;interval=0;ttl=",
         BEGIN TCP " -md_enoent_ttl_ms  -max_cacheable_byte_size 10485760 "
                   "-profile_metrics" END},
        {"mode=top;top=5",
         BEGIN TCP CACHE " -profile_metrics -profile_top_n 5" END},
        {"mode=full;top=5;interval=30",
         BEGIN TCP CACHE " -profile_metrics -profile_top_n 5 "
                         "-profile_paths_full "
                         "-profile_snapshot_interval_s 30" END},
        {"mode=top;address_book=/site",
         BEGIN BOOK("cxi") CACHE " -profile_metrics" END},
        {"mode=top;net_type=cxi://cxi1;address_book=/site",
         BEGIN BOOK("cxi://cxi1") CACHE " -profile_metrics" END},
        {"cache_size=1M;ttl=100",
         BEGIN TCP " -md_enoent_ttl_ms 100 -max_cacheable_byte_size 1048576 "
                   "-profile_metrics" END},
        {"cache_size=many", BEGIN TCP CACHE " -profile_metrics" END},
        {"args=  -a  b ", BEGIN TCP CACHE " -profile_metrics -a b" END},
        {"args=", BEGIN TCP CACHE " -profile_metrics" END},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        char *text = strdup(rows[i].settings), *rest = text, *pair;
        struct jp_setting settings[8] = {
            {.key = (char[]){"cu_fuse"}, .value = (char[]){"/opt/cu_fuse"}}};
        struct jp_jobconf conf = {.sides[OPTION_COPPER].settings = settings,
                                  .sides[OPTION_COPPER].n_settings = 1};
        const struct copper_paths paths = {
            "/m", "/l", "/b",
            strstr(rows[i].settings, "address_book") ? "/n" : NULL};
        struct copper_flags flags;
        char said[1024] = "";

        while ((pair = strsep(&rest, ";"))) {
            struct jp_setting *s =
                &settings[conf.sides[OPTION_COPPER].n_settings++];

            s->key = strsep(&pair, "=");
            s->value = pair;
        }
        assert_int_equal(copper_flags_make(&conf, &paths, &flags, NULL), 0);
        assert_null(flags.argv[flags.n]);
        for (int k = 0; k < flags.n; k++)
            snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s%s",
                     k ? " " : "", flags.argv[k]);
        assert_string_equal(said, rows[i].words);
        copper_flags_fini(&flags);
        free(text);
    }
}

/* Refused as a whole: the caller's struct is unchanged. */
static void test_flags_refused(void **state)
{
    char many[2 * COPPER_FLAGS_MAX + 1] = "";
    struct jp_setting settings[] = {
        {.key = (char[]){"cu_fuse"}, .value = (char[]){"/opt/cu_fuse"}},
        {.key = (char[]){"args"}, .value = many}};
    struct jp_jobconf conf = {.sides[OPTION_COPPER].settings = settings};
    const struct copper_paths paths = {"/m", "/l", "/b", "/n"};
    struct copper_flags flags = {.n = 77};
    struct jp_error err = {""};

    (void) state;
    assert_int_equal(copper_flags_make(&conf, &paths, &flags, &err), -1);
    assert_string_equal(err.text, "job.conf names no cu_fuse");
    conf.sides[OPTION_COPPER].n_settings = 2;
    for (int i = 0; i < COPPER_FLAGS_MAX; i++)
        memcpy(many + 2 * i, "x ", 3);
    assert_int_equal(copper_flags_make(&conf, &paths, &flags, &err), -1);
    assert_non_null(strstr(err.text, "flags for cu_fuse"));
    assert_int_equal(flags.n, 77);
}

static char *make(const char *dir, const char *name, mode_t mode, uid_t uid)
{
    char *path = tempdir_path(dir, name);

    assert_int_equal(mkdir(path, mode) | chmod(path, mode), 0);
    assert_int_equal(chown(path, uid, uid), 0);
    return path;
}

/* root never mounts at a place that another user could move. */
static void test_mount_point(void **state)
{
    enum { HIM = 12345 };
    struct jp_error err = {""};
    bool made = true;
    char *his, *point, *sticky, *own;

    if (geteuid() != 0)
        skip_check("only root can make files of two users");
    his = make(*state, "his", 0755, HIM);
    point = make(*state, "his/point", 0700, 0);
    sticky = make(*state, "sticky", 01777, 0);
    own = make(*state, "sticky/point", 0700, 0);
    assert_int_equal(copper_mount_prepare(point, &made, &err), -1);
    assert_non_null(strstr(err.text, "root does not use it"));
    assert_false(made);
    assert_int_equal(rmdir(point), 0);
    assert_int_equal(copper_mount_prepare(point, &made, &err), -1);
    assert_int_equal(access(point, F_OK), -1);
    assert_int_equal(copper_mount_prepare(own, &made, &err), 0);
    assert_int_equal(rmdir(own), 0);
    assert_int_equal(copper_mount_prepare(own, &made, &err), 0);
    assert_true(made);
    assert_int_equal(chown(his, 0, 0), 0); /* to be removed */
    free(own);
    free(sticky);
    free(point);
    free(his);
}

/* The site's book with full and short names, and the lines that are kept. */
static void test_book(void **state)
{
    static const struct {
        const char *book, *nodes, *out;
    } rows[] = {
        {"", "n1", ""},
        {"n1\n n1 a\nn1 \n", "n1", ""},
        {"n3 c\nn1 a\nn9 x\nn2 b\n", "n1,n2", "n1 a\nn2 b\n"},
        {"n3 c\nn1 a\n", "n1,n2,n3", "n1 a\nn3 c\n"},
        {"n1 old\nn1 new", "n1", "n1 new\n"},
        {"n1.site a\r\nn2\tb rest\n", "n1,n2.site", "n1 a\nn2.site b\n"},
        {"n1.x a\nn10 b\n", "n1.y,n1", "n1 a\n"},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        char *text = strdup(rows[i].book), *list = strdup(rows[i].nodes);
        char *nodes[8], *rest = list, *out = NULL;
        size_t n = 0, found, lines = 0;

        while (rest)
            nodes[n++] = strsep(&rest, ",");
        assert_int_equal(copper_book_filter(text, nodes, n, &out, &found, NULL),
                         0);
        assert_string_equal(out, rows[i].out);
        for (const char *at = out; (at = strchr(at, '\n')); at++)
            lines++;
        assert_int_equal(found, lines);
        free(out);
        free(text);
        free(list);
    }
}

/* As in Copper's build_my_tree: two children a node up to 31 nodes. Its
 * get_tree_segments cuts eight lines into three trees: 1 2 7, 3 4 8, 5 6. */
static void test_parents(void **state)
{
    static const struct {
        const char *node, *parents; /* NULL: not in the book */
        size_t trees;
    } rows[] = {
        {"n1", "", 1},       {"n2", "n1 ", 1},       {"n3", "n1 ", 1},
        {"n4", "n2 n1 ", 1}, {"n7", "n3 n1 ", 1},    {"n", NULL, 1},
        {"n77", NULL, 1},    {"n8", "n4 n2 n1 ", 1}, {"", NULL, 1},
        {"n1", "", 3},       {"n2", "n1 ", 3},       {"n7", "n1 ", 3},
        {"n3", "", 3},       {"n4", "n3 ", 3},       {"n8", "n3 ", 3},
        {"n5", "", 3},       {"n6", "n5 ", 3},       {"n5", "", 2},
        {"n8", "n6 n5 ", 2}, {"n8", "", 8},          {"n8", "", 9},
        {"n8", "", 0},       {"n9", NULL, 9},        {"n8", "", SIZE_MAX}};
    static const char book[] = "n1 a\nn2 b\nn3 c\nn4 d\nn5 e\nn6 f\nn7 g\n"
                               "n8 h\n";

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        char *parents[COPPER_DEPTH_MAX], said[64] = "";
        size_t n;
        int rc =
            copper_book_parents(book, rows[i].node, rows[i].trees, parents, &n);

        assert_int_equal(rc, rows[i].parents ? 0 : -1);
        for (size_t k = 0; k < n; k++) {
            strcat(strcat(said, parents[k]), " ");
            free(parents[k]);
        }
        assert_string_equal(said, rows[i].parents ? rows[i].parents : "");
    }
}

static void test_kinds(void **state)
{
    (void) state;
    assert_int_equal(copper_book_kind("tcp"), COPPER_ADDRESSES_ASKED);
    assert_int_equal(copper_book_kind("na+sm"), COPPER_ADDRESSES_LOCAL);
    assert_int_equal(copper_book_kind("cxi"), COPPER_ADDRESSES_SITE);
    assert_int_equal(copper_book_kind("cxi://cxi1"), COPPER_ADDRESSES_SITE);
    assert_int_equal(copper_book_kind("ofi+tcp"), COPPER_ADDRESSES_SITE);
}

/* Nodes report their addresses one by one; a node that has failed is not waited
 * for. */
static void test_gather(void **state)
{
    char dir[] = "/tmp/jpbook.XXXXXX",
         *nodes[] = {(char[]){"n1"}, (char[]){"n2"}, (char[]){"n3"}};
    char *run, *raw, *text = NULL;
    struct jp_error err;

    (void) state;
    assert_non_null(mkdtemp(dir));
    run = text_format("%s/run", dir);
    raw = text_format("%s/raw", dir);
    assert_int_equal(fileio_mkdir(run, &err) | fileio_mkdir(raw, &err), 0);
    assert_int_equal(copper_book_offer(dir, "n3", "tcp://c", &err), 0);
    assert_int_equal(copper_book_gather(dir, nodes, 3, false, &err), 0);
    assert_int_equal(copper_book_read(dir, &text, NULL), 0);
    assert_int_equal(copper_book_offer(dir, "n1", "tcp://a", &err), 0);
    assert_int_equal(copper_book_gather(dir, nodes, 3, false, &err), 0);
    assert_int_equal(copper_book_gather(dir, nodes, 3, true, &err), 1);
    assert_int_equal(copper_book_read(dir, &text, NULL), 1);
    assert_string_equal(text, "n1 tcp://a\nn3 tcp://c\n");
    free(text);
    free(run);
    run = text_format("%s/run/n2.failed", dir);
    assert_int_equal(fileio_write(run, "why", 3, &err), 0);
    assert_int_equal(copper_book_gather(dir, nodes, 3, false, &err), 1);
    assert_int_equal(fileio_remove_tree(dir, &err), 0);
    free(run);
    free(raw);
}

/* A place is left when its daemon's process has ended, whether or not it was
 * waited for. */
static void test_left(void **state)
{
    char node[] = "/tmp/jpleft.XXXXXX";
    struct copper_work work = {.node = node, .lock = -1};
    static const struct {
        const char *form;
        bool left;
    } notes[] = {{"%ld 1", true},  {"%ld 0", false},  {"%ld", false},
                 {"%ld x", false}, {"x%ld 1", false}, {"%ld 1 1", false}};
    struct jp_error err;
    pid_t child;
    siginfo_t info;

    (void) state;
    assert_non_null(mkdtemp(node));
    assert_false(copper_work_is_left(&work)); /* no pid was recorded */
    assert_int_equal(copper_work_note_pid(&work, getpid(), &err), 0);
    assert_false(copper_work_is_left(&work));
    child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(copper_work_note_pid(&work, child, &err), 0);
    assert_int_equal(waitid(P_PID, (id_t) child, &info, WEXITED | WNOWAIT), 0);
    assert_true(copper_work_is_left(&work));
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(copper_work_is_left(&work));
    /* a process that started later has the number; notes of other forms say
     * nothing */
    for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
        char *path = text_format("%s/pid", node), text[64];
        int n = snprintf(text, sizeof(text), notes[i].form, (long) getpid());

        assert_int_equal(fileio_write(path, text, (size_t) n, &err), 0);
        if (copper_work_is_left(&work) != notes[i].left)
            fail_msg("%s", notes[i].form);
        free(path);
    }
    assert_int_equal(fileio_remove_tree(node, &err), 0);
}

/* A place that is no longer in use is removed by the next start on that node,
 * and its logs are kept. A place in use, and another node's, stay. */
static void test_swept(void **state)
{
    char raw[] = "/tmp/jpleft.XXXXXX", step[] = "77777.0", text[] = "why";
    const struct jp_jobconf conf = {.job_id = (uint64_t) getpid(),
                                    .step_id = step};
    struct copper_work work, other;
    struct jp_error err;
    char *log, *kept;

    (void) state;
    assert_non_null(mkdtemp(raw));
    assert_int_equal(copper_work_init(&work, &conf, "jpswept", &err), 0);
    assert_int_equal(copper_work_init(&other, &conf, "jpother", &err), 0);
    assert_int_equal(copper_work_make(&work, "../mnt", raw, &err), 0);
    assert_int_equal(copper_work_make(&other, "../mnt", raw, &err), 0);
    log = text_format("%s/logs/n1-7-output.log", work.node);
    kept = text_format("%s/logs/n1-7-output.log", raw);
    assert_int_equal(fileio_write(log, text, strlen(text), &err), 0);
    close(other.lock);
    other.lock = -1;
    copper_work_sweep("jpswept");
    assert_int_equal(access(work.node, F_OK), 0); /* in use: by us */
    close(work.lock);
    work.lock = -1;
    assert_int_equal(copper_work_note_pid(&work, getpid(), &err), 0);
    copper_work_sweep("jpswept");
    assert_int_equal(access(work.node, F_OK), 0); /* its daemon lives */
    free(log);
    log = text_format("%s/pid", work.node);
    assert_int_equal(unlink(log), 0);
    copper_work_sweep("jpswept");
    assert_int_equal(access(work.node, F_OK), -1);
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(access(other.node, F_OK), 0); /* another node's */
    copper_work_sweep("jpother");
    assert_int_equal(access(other.base, F_OK), -1);
    assert_int_equal(fileio_remove_tree(raw, &err), 0);
    copper_work_fini(&work);
    copper_work_fini(&other);
    free(log);
    free(kept);
}

/* Another step's start tests the lock at the same moment. */
static void test_looked_at(void **state)
{
    char raw[] = "/tmp/jpleft.XXXXXX", step[] = "77778.0";
    const struct jp_jobconf conf = {.job_id = (uint64_t) getpid(),
                                    .step_id = step};
    struct copper_work work;
    struct jp_error err;
    int held[2];
    char byte;
    pid_t pid;

    (void) state;
    assert_non_null(mkdtemp(raw));
    assert_int_equal(copper_work_init(&work, &conf, "jpseen", &err), 0);
    assert_int_equal(copper_work_make(&work, "../mnt", raw, &err), 0);
    close(work.lock);
    work.lock = -1;
    assert_int_equal(pipe(held), 0);
    pid = fork();
    if (pid == 0) {
        char *lock = text_format("%s/lock", work.node);
        int fd = lock ? open(lock, O_RDONLY) : -1;

        if (fd >= 0 && flock(fd, LOCK_EX) == 0 && write(held[1], "", 1) == 1)
            usleep(100000);
        _exit(0);
    }
    assert_int_equal(read(held[0], &byte, 1), 1);
    assert_int_equal(copper_work_make(&work, "../mnt", raw, &err), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    copper_work_clean(&work, raw);
    copper_work_fini(&work);
    close(held[0]);
    close(held[1]);
    assert_int_equal(fileio_remove_tree(raw, &err), 0);
}

/* Another step's start takes the folder for one that was left, and removes it
 * before it is locked: it is made again. */
static void test_removed_meanwhile(void **state)
{
    char raw[] = "/tmp/jpleft.XXXXXX", step[] = "77779.0";
    const struct jp_jobconf conf = {.job_id = (uint64_t) getpid(),
                                    .step_id = step};
    struct copper_work work;
    struct jp_error err;
    struct stat st;
    int held[2];
    char byte;
    pid_t pid;

    (void) state;
    assert_non_null(mkdtemp(raw));
    assert_int_equal(copper_work_init(&work, &conf, "jpgone", &err), 0);
    assert_int_equal(copper_work_make(&work, "../mnt", raw, &err), 0);
    close(work.lock);
    work.lock = -1;
    assert_int_equal(pipe(held), 0);
    pid = fork();
    if (pid == 0) { /* as a sweep does */
        char *lock = text_format("%s/lock", work.node);
        int fd = lock ? open(lock, O_RDONLY) : -1;

        if (fd >= 0 && flock(fd, LOCK_EX) == 0 && write(held[1], "", 1) == 1)
            usleep(100000);
        copper_work_clean(&work, NULL);
        _exit(0);
    }
    assert_int_equal(read(held[0], &byte, 1), 1);
    assert_int_equal(copper_work_make(&work, "../mnt", raw, &err), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(fstat(work.lock, &st), 0);
    assert_int_equal(st.st_nlink, 1);
    assert_int_equal(access(work.fs, F_OK), -1); /* "../mnt" is not mounted */
    assert_int_equal(lstat(work.fs, &st), 0);
    copper_work_clean(&work, raw);
    copper_work_fini(&work);
    close(held[0]);
    close(held[1]);
    assert_int_equal(fileio_remove_tree(raw, &err), 0);
}

static void test_names_of_logs(void **state)
{
    static const struct {
        const char *path, *name, *logs;
    } rows[] = {
        {"/x/logs/n1-7-output.log", "n1-7", "/x"},
        {"/logs/a-b-7-output.log", "a-b-7", ""},
        {"/x/logs/-output.log", NULL, NULL},
        {"/x/log/n1-7-output.log", NULL, NULL},
        {"/x/logs/n1-7-output.log (deleted)", NULL, NULL},
        {"logs/n1-7-output.log", NULL, NULL},
        {"/dev/null", NULL, NULL},
        {"", NULL, NULL},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        char *path = strdup(rows[i].path), *logs = NULL;
        const char *name = copper_attach_name(path, &logs);

        assert_true(!name == !rows[i].name);
        if (name) {
            assert_string_equal(name, rows[i].name);
            assert_string_equal(logs, rows[i].logs);
        }
        free(path);
    }
}

/* Each %N of mount= is replaced by the node. */
static void test_node_twice(void **state)
{
    char key[] = "mount", mode[] = "mode", attach[] = "attach", one[] = "1";
    char value[] = "/nowhere/%N/%N", top[] = "top", none[] = "";
    struct jp_setting settings[] = {{mode, top, none, none, none},
                                    {attach, one, none, none, none},
                                    {key, value, none, none, none}};
    const struct jp_jobconf conf = {
        .sides[OPTION_COPPER].settings = settings,
        .sides[OPTION_COPPER].n_settings = N(settings)};
    struct jp_error err = {""};
    void *run = NULL;
    int rc = 0;

    assert_int_equal(copper_attach.start(&conf, *state, "n1", &run, &err), 0);
    for (int i = 0; i < 500 && rc == 0; i++, usleep(10000))
        rc = copper_attach.ready(run, &err);
    assert_int_equal(rc, -1);
    if (!strstr(err.text, "/nowhere/n1/n1:"))
        fail_msg("%s", err.text);
    copper_attach.destroy(run);
}

/* attach=1 has a runner of its own. */
static void test_which_runner(void **state)
{
    char attach[] = "attach", one[] = "1", zero[] = "0", none[] = "";
    struct jp_setting setting = {attach, one, none, none, none};
    struct jp_jobconf conf = {.sides[OPTION_COPPER].settings = &setting,
                              .sides[OPTION_COPPER].n_settings = 1};

    (void) state;
    assert_ptr_equal(backend_runner_of(&copper_runner, &conf), &copper_attach);
    assert_ptr_equal(backend_runner_of(&copper_attach, &conf), &copper_attach);
    setting.value = zero;
    assert_ptr_equal(backend_runner_of(&copper_runner, &conf), &copper_runner);
    conf.sides[OPTION_COPPER].n_settings = 0;
    assert_ptr_equal(backend_runner_of(&copper_runner, &conf), &copper_runner);
}

/* A typed path becomes that of mountinfo. */
static void test_real_path(void **state)
{
    char dir[] = "/tmp/jpreal.XXXXXX", *link, *path, *out;
    struct jp_error err;

    (void) state;
    assert_non_null(mkdtemp(dir));
    link = text_format("%s/link", dir);
    assert_int_equal(symlink(dir, link), 0);
    path = text_format("%s/a/b///", link);
    out = copper_mount_real(path, &err);
    assert_non_null(out);
    assert_memory_equal(out, dir, strlen(dir));
    assert_string_equal(out + strlen(dir), "/a/b");
    free(out);
    assert_null(copper_mount_real("/", &err));
    assert_null(copper_mount_real("", &err));
    assert_null(copper_mount_real("b", &err));
    assert_int_equal(fileio_remove_tree(dir, &err), 0);
    free(path);
    free(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mountinfo),
        cmocka_unit_test(test_cmdline),
        cmocka_unit_test(test_cores),
        cmocka_unit_test(test_no_target),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_flags_refused),
        cmocka_unit_test_setup_teardown(test_mount_point, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test(test_book),
        cmocka_unit_test(test_parents),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_real_path),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_swept),
        cmocka_unit_test(test_looked_at),
        cmocka_unit_test(test_removed_meanwhile),
        cmocka_unit_test(test_which_runner),
        cmocka_unit_test(test_names_of_logs),
        cmocka_unit_test_setup_teardown(test_node_twice, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
