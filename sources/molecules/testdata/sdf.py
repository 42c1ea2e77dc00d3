"""Writes molecules, SMILES a line, as an SD file by RDKit (Debian's python3-rdkit) in Kekulé form:

    /usr/bin/python3 sdf.py <molecules.smi >rdkit.sdf

The data item smiles has the same atoms in the same order as SMILES, in Kekulé form too.
"""
import sys
from rdkit import Chem, RDLogger

RDLogger.DisableLog('rdApp.*')
for line in sys.stdin:
    m = Chem.MolFromSmiles(line.strip())
    if m is None:
        continue
    Chem.Kekulize(m, clearAromaticFlags=True)
    text = Chem.MolToSmiles(m, kekuleSmiles=True, isomericSmiles=True)
    m = Chem.RenumberAtoms(m, list(m.GetPropsAsDict(True, True)['_smilesAtomOutputOrder']))
    print(Chem.MolToMolBlock(m, includeStereo=False, kekulize=False), end='')
    print(f'>  <smiles>  ({line.strip()})\n{text}\n\n$$$$')
