"""Writes what RDKit reads in the column smiles of a CSV, for TestRDKit: rdkit.py IN.csv.gz OUT.jsonl

Two readings a line: raw, as written (sanitize off), and sanitized. Explicit [H] are kept in both.
"""
import csv, gzip, json, sys
from rdkit import Chem, RDLogger

RDLogger.DisableLog('rdApp.*')
TYPES = {'SINGLE': 1, 'DOUBLE': 2, 'TRIPLE': 3, 'QUADRUPLE': 4, 'AROMATIC': 5}


def read(smiles, sanitize):
    p = Chem.SmilesParserParams()
    p.sanitize, p.removeHs, p.allowCXSMILES, p.parseName = sanitize, False, False, False
    m = Chem.MolFromSmiles(smiles, p)
    if m is None:
        return None
    if not sanitize:
        m.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(m)
    atoms = [[a.GetSymbol(), a.GetIsotope(), a.GetFormalCharge(), a.GetTotalNumHs(), int(a.GetIsAromatic()),
              int(a.IsInRing()), a.GetAtomMapNum()] for a in m.GetAtoms()]
    bonds = [sorted([b.GetBeginAtomIdx(), b.GetEndAtomIdx()]) + [TYPES.get(str(b.GetBondType()), 0), int(b.IsInRing())]
             for b in m.GetBonds()]
    return {'atoms': atoms, 'bonds': sorted(bonds)}


with gzip.open(sys.argv[1], 'rt') as table, open(sys.argv[2], 'w') as out:
    for row in csv.DictReader(table):
        s = row['smiles']
        print(json.dumps({'smiles': s, 'raw': read(s, False), 'sanitized': read(s, True)}, separators=(',', ':')), file=out)
