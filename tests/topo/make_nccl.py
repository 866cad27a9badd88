#!/usr/bin/env python3
"""Prints NCCL's topology file of the machine in a topology.xml.

make_nccl.py dump|file TOPOLOGY.XML

The k-th GPU and the k-th adapter are on one switch, half of these in each
socket. dump: as NCCL writes it; file: as people write it for NCCL, without
<gpu> and <nic>.
"""
import re
import sys


def main():
    dump = sys.argv[1] == "dump"
    with open(sys.argv[2], encoding="utf-8") as f:
        text = f.read()
    gpus, nics = (sorted(re.findall(
        rf'pci_busid="([^"]+)" pci_type="{c}', text)) for c in ("0302", "0207"))
    names = re.findall(r'name="(mlx5_\w+)"', text)
    print('<!-- made for a test -->\n<system version="1">')
    for k, (gpu, nic) in enumerate(zip(gpus, nics)):
        if k % (len(gpus) // 2) == 0:
            print(f'{"</cpu>" if k else ""}<cpu numaid="{2 * k // len(gpus)}" '
                  'host_hash="0x1f" arch="x86_64">')
        print(f'  <pci busid="ffff:ff:{k:02x}.0" class="0x060400">\n'
              f'    <pci busid="{gpu}" class="0x030200" vendor="0x10de" '
              'device="0x2330">')
        if dump:
            print(f'      <gpu dev="{k}" sm="90" rank="{k}" gdr="1"><nvlink '
                  'target="fffffff:ffff:ff" count="18" tclass="0x068000"/>'
                  '</gpu>')
        print(f'    </pci>\n    <pci busid="{nic}" class="0x020700" '
              'vendor="0x15b3" device="0x101e">')
        if dump:
            print(f'      <nic><net name="{names[k]}" dev="{k}" speed="400000" '
                  f'port="1" guid="0x{k + 1:x}" gdr="1"/></nic>')
        print('    </pci>\n  </pci>')
    print('</cpu></system>')


if __name__ == "__main__":
    main()
