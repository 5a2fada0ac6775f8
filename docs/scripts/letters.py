"""Make the data set ``letters``: the 26 capital letters in free typefaces, 16 x 16 gray pixels.

Each letter is described by the sixteen segments of a display. From an empty folder, with Debian 12
("bookworm"), Pillow, fontTools and NumPy:

    python letters.py packages > packages.txt      # the Debian packages that hold the typefaces
    mkdir debs && (cd debs && apt-get download $(cat ../packages.txt))
    python letters.py make debs --out .            # writes letters.npz and letters_typefaces.csv

Nothing is installed: the packages are unpacked into a temporary folder (``dpkg-deb -x``).

Which typefaces: only packages of Debian's ``main`` under a license that is free without copyleft (LICENSES),
which the script looks up in each package's copyright file. One face per family, the upright regular one; a
width, weight or optical size that is sold under a name of its own ("Sans Condensed", "Serif Caption") is the
same family. Then two rules on the pixels:

* legible: at least LEGIBLE of the 26 capitals look most like the same letter in a typeface of another package
  (largest correlation of the pixels). This drops symbols, lower-case shapes and most scripts.
* no doubles: of two typefaces whose capitals correlate by DOUBLE or more on average the first one stays
  (in the order of the table: clones such as Open Sans beside Noto Sans).

Groups: typefaces of one package, or whose names begin with the same word ("Averia Sans", "Averia Serif"), are
one group, and a group is either on the side of seen train or on the side of seen test.

Pixels: a letter fills the height of the square and is at its middle. It is as wide as drawn, times two, where
the square has room: the bars of a narrow letter are then where the display has them. Times two was chosen
among 1, 1.25, 1.5, 2 and "always full width" by the mean results of random choices of unseen letters.

The unseen letters follow from the descriptions alone, see ``choose_unseen``.
"""

from __future__ import annotations

import argparse
import csv
import logging
import re
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from io import BytesIO
from itertools import combinations
from pathlib import Path

import numpy as np

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SIDE = 16  # pixels
LEVELS = 16  # of gray, which compresses better than 256
EM = 320  # pixels of the large drawing that is averaged down
LEGIBLE = 20  # letters
DOUBLE = 0.92
WIDEST = 2.0  # a narrow letter is widened by this factor at most
TEST_EVERY = 4  # one group of so many is for seen test
N_UNSEEN = 6

# ---- the descriptions --------------------------------------------------------------------------------

#     -a1- -a2-
#    |\   |   /|
#    f h  i  j b
#    |  \ | /  |
#     -g1- -g2-
#    |  / | \  |
#    e k  l  m c
#    |/   |   \|
#     -d1- -d2-
SEGMENTS = ("a1", "a2", "b", "c", "d1", "d2", "e", "f", "g1", "g2", "h", "i", "j", "k", "l", "m")
# The shapes that such displays usually show.
DISPLAY = {
    "A": "a1 a2 b c e f g1 g2",
    "B": "a1 a2 b c d1 d2 g2 i l",
    "C": "a1 a2 d1 d2 e f",
    "D": "a1 a2 b c d1 d2 i l",
    "E": "a1 a2 d1 d2 e f g1",
    "F": "a1 a2 e f g1",
    "G": "a1 a2 c d1 d2 e f g2",
    "H": "b c e f g1 g2",
    "I": "a1 a2 d1 d2 i l",
    "J": "b c d1 d2 e",
    "K": "e f g1 j m",
    "L": "d1 d2 e f",
    "M": "b c e f h j",
    "N": "b c e f h m",
    "O": "a1 a2 b c d1 d2 e f",
    "P": "a1 a2 b e f g1 g2",
    "Q": "a1 a2 b c d1 d2 e f m",
    "R": "a1 a2 b e f g1 g2 m",
    "S": "a1 a2 c d1 d2 f g1 g2",
    "T": "a1 a2 i l",
    "U": "b c d1 d2 e f",
    "V": "e f j k",
    "W": "b c e f k m",
    "X": "h j k m",
    "Y": "h j l",
    "Z": "a1 a2 d1 d2 j k",
}


def describe() -> np.ndarray:
    """Return the 26 x 16 descriptions, 1 where a segment is lit."""
    lit = np.array([[float(name in DISPLAY[letter].split()) for name in SEGMENTS] for letter in LETTERS])
    assert len(np.unique(lit, axis=0)) == len(LETTERS)
    return lit


# ---- the typefaces -----------------------------------------------------------------------------------

OFL = "SIL Open Font License"
# license -> what its packages' copyright file says, and the packages
LICENSES = {
    OFL: (
        r"open font license|\bOFL\b|SIL-1\.1",
        """
        fonts-3270 fonts-allerta fonts-amiga fonts-anonymous-pro fonts-apropal fonts-arapey fonts-averia-gwf
        fonts-averia-sans-gwf fonts-averia-serif-gwf fonts-b612 fonts-babelstone-modern fonts-bajaderka
        fonts-bebas-neue fonts-blankenburg fonts-breip fonts-bwht fonts-cabin fonts-cabinsketch
        fonts-cantarell fonts-cardo fonts-century-catalogue fonts-cherrybomb fonts-cmu fonts-comfortaa
        fonts-comic-neue fonts-compagnon fonts-courier-prime fonts-croscore fonts-crosextra-caladea
        fonts-crosextra-carlito fonts-dancingscript fonts-dkg-handwriting fonts-dosis fonts-dotgothic16
        fonts-ebgaramond fonts-elstob fonts-essays1743 fonts-eurofurence fonts-fantasque-sans
        fonts-ferrite-core fonts-firacode fonts-gamaliel fonts-gemunu-libre fonts-georgewilliams
        fonts-gfs-artemisia fonts-gfs-didot fonts-gfs-neohellenic fonts-gfs-theokritos fonts-gnutypewriter
        fonts-gotico-antiqua fonts-havana fonts-hermit fonts-hosny-amiri fonts-humor-sans fonts-inconsolata
        fonts-inter fonts-joscelyn fonts-junction fonts-junicode fonts-jura fonts-karla fonts-kaushanscript
        fonts-klaudia-berenika fonts-kristi fonts-lato fonts-le-murmure fonts-league-mono
        fonts-league-spartan fonts-leckerli-one fonts-lemonada fonts-linuxlibertine fonts-lobster
        fonts-lobstertwo fonts-manrope fonts-millimetre fonts-monofur fonts-monoid fonts-mononoki
        fonts-national-park fonts-noto-core fonts-noto-mono fonts-okolaks fonts-oldstandard fonts-opendin
        fonts-oxygen fonts-play fonts-quattrocento fonts-quicksand fonts-radisnoir fonts-rampart
        fonts-reggae fonts-rocknroll fonts-routed-gothic fonts-sil-abyssinica fonts-sil-andika
        fonts-sil-charis fonts-sil-doulos fonts-sil-galatia fonts-sil-gentiumplus fonts-sil-padauk
        fonts-sil-sophia-nubian fonts-sixtyfour fonts-smc-gayathri fonts-smc-manjari fonts-smiley-sans
        fonts-solide-mirage fonts-sora fonts-stick fonts-stix fonts-tomsontalks fonts-train
        fonts-triod-postnaja fonts-vollkorn fonts-yanone-kaffeesatz fonts-yrsa-rasa fonts-yusei-magic
        """,
    ),
    "Apache License 2.0": (
        r"apache",
        "fonts-clear-sans fonts-jetbrains-mono fonts-open-sans fonts-roboto-slab fonts-roboto-unhinted",
    ),
    "MIT License": (
        r"\bMIT\b|expat",
        "fonts-agave fonts-fanwood fonts-lindenhill fonts-roadgeek fonts-hack",
    ),
    "BSD License": (r"BSD", "fonts-go"),
    "Bitstream Vera License": (r"bitstream", "fonts-dejavu-core"),
    "GUST Font License": (r"GUST", "fonts-lmodern fonts-texgyre"),
    "public domain": (
        r"public[- ]domain|unlicense",
        "fonts-glasstty fonts-goudybookletter fonts-ocr-a fonts-prociono fonts-tuffy",
    ),
}
# A variant of a family under a name of its own is that family; these words make no other family.
VARIANT = re.compile(
    r"\b(condensed|semi-condensed|narrow|wide|cond|cn|light|medium|demi|bold|thin|book|caps|smallcaps|"
    r"small|display|text|caption|math|minus|extra|slanted|unslanted|italic|half|upright|variable|width|"
    r"quotation|prop|initials|keyboard|classic|classical|dunhill|symbols|std|tt|gwf|sil|two|beta|d|o)\b"
)


@dataclass
class Face:
    """One font file, and what is known about it."""

    family: str
    style: str
    file: str
    package: str
    license: str
    rank: tuple[object, ...]
    pixels: np.ndarray | None = None

    @property
    def stem(self) -> tuple[str, str]:
        """What all variants of a family have in common."""
        words = re.sub(r"bold$|condensed$|italic$|alt$", "", self.family.strip(), flags=re.I).lower()
        return self.package, " ".join(VARIANT.sub(" ", words).split())


def packages() -> dict[str, str]:
    """Return the license of every package."""
    return {name: title for title, (_, names) in LICENSES.items() for name in names.split()}


def find_faces(debs: Path, folder: Path) -> list[Face]:
    """Unpack the packages and return one upright regular face per family."""
    best: dict[tuple[str, str], Face] = {}
    for package, title in sorted(packages().items()):
        found = sorted(debs.glob(f"{package}_*.deb"))
        if len(found) != 1:
            raise SystemExit(f"{debs} holds {len(found)} files {package}_*.deb, expected one.")
        root = folder / package
        subprocess.run(["dpkg-deb", "-x", str(found[0]), str(root)], check=True)
        text = (root / "usr/share/doc" / package / "copyright").read_text(errors="replace")
        if not re.search(LICENSES[title][0], text, re.I):
            raise SystemExit(f"The copyright file of {package} does not name the {title}.")
        for path in sorted(root.rglob("*")):
            if path.suffix.lower() not in (".ttf", ".otf") or path.is_symlink():
                continue
            face = read_face(path, package, title, root)
            if face and (face.stem not in best or face.rank < best[face.stem].rank):
                best[face.stem] = face
    return sorted(best.values(), key=lambda face: (face.family.lower(), face.package))


def read_face(path: Path, package: str, title: str, root: Path) -> Face | None:
    """Return what the font file says about itself; None without the 26 capitals."""
    from fontTools.ttLib import TTFont

    font = TTFont(path, lazy=True)
    codes = font.getBestCmap() or {}
    if not all(ord(letter) in codes for letter in LETTERS):
        return None
    names, os2 = font["name"], font["OS/2"]
    family, style = (
        str(text or "").strip() for text in (names.getBestFamilyName(), names.getBestSubFamilyName())
    )
    words = f"{family} {style} {path.stem}".lower()
    slanted = bool(os2.fsSelection & 1) or font["post"].italicAngle != 0
    slanted = slanted or bool(re.search(r"ital|obli|slant", words))
    heavy = bool(font["head"].macStyle & 1) or "bold" in words
    plain = bool(re.search(r"regular|roman|book|normal|medium", style.lower()))
    rank = (
        "math" in words or "symbol" in words,
        slanted,
        heavy,
        bool(re.search(r"cond|narrow|outline|wide|inverted|sharp|caps|initial|light|thin|dunhill", words)),
        not plain,
        "medium" in words,
        abs(os2.usWeightClass - 400),
        len(family),
        path.name,
    )
    return Face(family, style, str(path.relative_to(root)), package, title, rank)


# ---- the pixels --------------------------------------------------------------------------------------


def draw_face(path: Path) -> np.ndarray | None:
    """Return the 26 capitals as (26, SIDE * SIDE) grays; None when one is empty."""
    from PIL import ImageFont

    font = ImageFont.truetype(str(path), EM, layout_engine=ImageFont.Layout.BASIC)
    drawn = [draw_letter(font, letter) for letter in LETTERS]
    return None if any(image is None for image in drawn) else np.array(drawn)


def draw_letter(font: object, letter: str) -> np.ndarray | None:
    """Return a letter that fills the height, centered, widened by WIDEST at most; black ink is 255."""
    from PIL import Image, ImageDraw

    canvas = Image.new("L", (4 * EM, 4 * EM))
    ImageDraw.Draw(canvas).text((EM, EM), letter, font=font, fill=255)
    box = canvas.point(lambda gray: 255 * (gray > 127)).getbbox()
    if box is None:
        return None
    ink = canvas.crop(box)
    width, height = ink.size
    scale = SIDE / max(width, height)
    wide = min(SIDE, max(1, round(width * scale * WIDEST)))
    high = max(1, round(height * scale))
    small = ink.resize((wide, high), Image.Resampling.BOX)
    square = Image.new("L", (SIDE, SIDE))
    square.paste(small, ((SIDE - wide) // 2, (SIDE - high) // 2))
    gray = np.rint(np.asarray(square, dtype=float) / 255 * (LEVELS - 1))
    return (gray * (255 // (LEVELS - 1))).astype(np.uint8).ravel()


def correlations(faces: list[Face]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean correlation of the same letters for every two faces, and the standardized pixels."""
    Z = np.array([face.pixels for face in faces], dtype=float)
    Z -= Z.mean(axis=2, keepdims=True)
    Z /= np.linalg.norm(Z, axis=2, keepdims=True)
    flat = Z.reshape(len(faces), -1)
    return flat @ flat.T / len(LETTERS), Z


def legible(faces: list[Face]) -> list[int]:
    """Return for each face how many letters look most like the same letter of another package."""
    _, Z = correlations(faces)
    rows = Z.reshape(-1, SIDE * SIDE)
    package = np.repeat([face.package for face in faces], len(LETTERS))
    letter = np.tile(np.arange(len(LETTERS)), len(faces))
    similar = rows @ rows.T
    similar[package[:, None] == package[None]] = -1
    right = letter[similar.argmax(axis=1)] == letter
    return [int(count) for count in right.reshape(len(faces), -1).sum(axis=1)]


def drop_doubles(faces: list[Face]) -> list[Face]:
    """Keep the first of all faces that look the same."""
    C, _ = correlations(faces)
    kept: list[int] = []
    for i in range(len(faces)):
        if not kept or C[i, kept].max() < DOUBLE:
            kept.append(i)
        else:
            print(f"double: {faces[i].family} looks like {faces[kept[int(C[i, kept].argmax())]].family}")
    return [faces[i] for i in kept]


def group_faces(faces: list[Face]) -> np.ndarray:
    """Return the group of every face: one package, or the same first word of the name."""
    group = np.arange(len(faces))
    for (i, a), (j, b) in combinations(enumerate(faces), 2):
        if a.package == b.package or a.family.split()[0].lower() == b.family.split()[0].lower():
            group[group == max(group[i], group[j])] = min(group[i], group[j])
    return np.unique(group, return_inverse=True)[1]


# ---- the split ---------------------------------------------------------------------------------------


def choose_unseen(S: np.ndarray) -> list[int]:
    """Return the unseen letters, from the descriptions alone: the six that stand best for all.

    Of all 230 230 choices of six letters where the descriptions of the other twenty have the rank of all 26
    (nothing is said about an unseen letter that seen ones do not say in some combination), take the one whose
    mean description is nearest to the mean of all letters (squared distance: the six use every segment about
    as often as the alphabet does); among equals the one whose least distance between two of the six is
    largest (the number of segments that differ), then the first in the alphabet.
    """
    rank = np.linalg.matrix_rank(S)
    distance = np.abs(S[:, None] - S[None]).sum(axis=2)
    choices = np.array(list(combinations(range(len(S)), N_UNSEEN)))
    means = sum(S[member] for member in choices.T) / N_UNSEEN  # (choices, segments)
    off = np.round(((means - S.mean(axis=0)) ** 2).sum(axis=1), 9)
    pairs = list(combinations(range(N_UNSEEN), 2))
    apart = np.min([distance[choices[:, i], choices[:, j]] for i, j in pairs], axis=0)
    for number in np.lexsort((-apart, off)):  # stable: the alphabet decides what is left
        if np.linalg.matrix_rank(np.delete(S, choices[number], axis=0)) == rank:
            return [int(index) for index in choices[number]]
    raise ValueError("No choice of seen letters has the rank of all.")


def choose_test(group: np.ndarray) -> np.ndarray:
    """Return the mask of the faces for seen test: one group of every TEST_EVERY, in the order of size."""
    sizes = np.bincount(group)
    order = np.lexsort((np.arange(len(sizes)), -sizes))
    return np.isin(group, order[TEST_EVERY - 1 :: TEST_EVERY])


# ---- files -------------------------------------------------------------------------------------------


def make(debs: Path, out: Path) -> None:
    """Write ``letters.npz`` and ``letters_typefaces.csv``."""
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        faces = find_faces(debs, folder)
        for face in faces:
            face.pixels = draw_face(folder / face.package / face.file)
    faces = [face for face in faces if face.pixels is not None]
    print(f"{len(faces)} families")
    counts = legible(faces)
    for face, count in zip(faces, counts):
        if count < LEGIBLE:
            print(f"not legible ({count} of 26 letters): {face.family}")
    faces = [face for face, count in zip(faces, counts) if count >= LEGIBLE]
    faces = drop_doubles(faces)
    group = group_faces(faces)
    test = choose_test(group)
    S = describe()
    unseen = choose_unseen(S)
    save(out / "letters.npz", faces, group, test, S, unseen)
    with open(out / "letters_typefaces.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["family", "style", "file", "package", "license", "group", "part"])
        for face, number, is_test in zip(faces, group, test):
            part = "test_seen" if is_test else "train"
            style = " ".join(face.style.split())
            row = [face.family, style, face.file, face.package, face.license, number, part]
            table.writerow(row)
    print(f"{len(faces)} typefaces in {group.max() + 1} groups, {int(test.sum())} for test")
    print(f"unseen: {' '.join(LETTERS[i] for i in unseen)}")


def save(
    path: Path, faces: list[Face], group: np.ndarray, test: np.ndarray, S: np.ndarray, unseen: list[int]
) -> None:
    """Write the arrays, letter by letter since similar rows side by side compress better."""
    pixels = np.array([face.pixels for face in faces])  # (faces, 26, pixels)
    y = np.repeat(np.arange(len(LETTERS)), len(faces))
    on_test = np.tile(test, len(LETTERS)) & ~np.isin(y, unseen)
    names = [faces[int(np.flatnonzero(group == number)[0])].family for number in range(group.max() + 1)]
    arrays = {
        "X": pixels.transpose(1, 0, 2).reshape(-1, SIDE * SIDE),
        "y": y.astype(np.uint8),
        "class_names": np.array(list(LETTERS)),
        "attribute_names": np.array(SEGMENTS),
        "prototypes": S,
        "unseen_classes": np.array([LETTERS[i] for i in unseen]),
        "test_seen": np.flatnonzero(on_test).astype(np.int32),
        "groups": np.tile(group, len(LETTERS)).astype(np.uint8),
        "group_names": np.array(names),
        "faces": np.tile(np.arange(len(faces)), len(LETTERS)).astype(np.uint8),
        "face_names": np.array([face.family for face in faces]),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in arrays.items():
            buffer = BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(
                zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)),
                buffer.getvalue(),
                zipfile.ZIP_DEFLATED,
                9,
            )
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("packages", help="print the Debian packages that are needed")
    maker = commands.add_parser("make", help="write letters.npz and letters_typefaces.csv")
    maker.add_argument("debs", type=Path, help="folder with the downloaded packages")
    maker.add_argument("--out", type=Path, default=Path("."))
    args = parser.parse_args()
    if args.command == "packages":
        sys.stdout.write("\n".join(sorted(packages())) + "\n")
    else:
        make(args.debs, args.out)


if __name__ == "__main__":
    main()
