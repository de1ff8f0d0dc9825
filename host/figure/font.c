/* A stroke font, which needs no font file. Capitals are 9 units high, and small letters are 6 units high. At scale
 * 1, a unit is a pixel. */
#include "host/figure/draw.h"

#include <string.h>

/* Glyphs of the characters ASCII 32 to 126. The first character of a glyph is the glyph's width. Strokes follow,
 * separated by blanks. A point of a stroke is two characters: x from the left and y from the top of capitals.
 * Coordinates are in half units, with the digits 0 ... 9 a ... z. A ~ before a point marks a control point of a
 * quadratic curve. The middle of two consecutive control points is on the curve (as in TrueType). Capitals extend
 * from y = 0 to y = i (18 half units). */
static const char *const GLYPH[95] = {
    "5", /* space to % */
    "0000c 0h0i",
    "40003 4043",
    "c402i a08i 06c6 0ccc",
    "cb3~a060~0004~0869~cacd~ci6i~0i0f 606i",
    "ec02i 30~60~6737~07~0030 bb~eb~eibi~8i~8bbb",
    "cci25~1050~9093~9749~0b0e~0i5i~aica", /* & to * */
    "00003",
    "440~04~0g4k",
    "400~44~4g0k",
    "a505a 1298 9218",
    "c646g 0aca", /* + to / */
    "22h0l",
    "80c8c",
    "00h0i",
    "8800k",
    "a50~a0~ai5i~0i~0050", /* 0 to 4 */
    "a14505i 1i9i",
    "a04~0050~a0a5~a90iai",
    "a03~0050~90~9848 48~a8~ai5i~0i0f",
    "a8i800cac",
    "a90100919~2656~a6~ai5i~0i0f", /* 5 to 9 */
    "a92~8050~000b~0i5i~ai~a757~070c",
    "a00a04i",
    "a50~90~9858~18~1050 58~a8~ai5i~0i~0858",
    "a1g~2i5i~aia7~a050~00~0b5b~aba6",
    "00809 0h0i", /* : to @ */
    "22829 2h0l",
    "aa40aag",
    "a08a8 0eae",
    "a04aa0g",
    "a04~0050~a0a4~a85b5d 5h5i",
    "g85~55~5f8f~bf~b585 b5bd~bfdf~gfga~g080~00~0k8k~bkcj",
    "c0i60ci 2cac", /* A to E */
    "c0i0070~b0~b87808 78~c8~ci7i0i",
    "cc3~b060~00~0i6i~bicf",
    "c000i5i~ci~c05000",
    "bb0000ibi 0999",
    "bb0000i 0999", /* F to J */
    "cc3~b060~00~0i6i~cicc7c",
    "c000i c0ci 09c9",
    "0000i",
    "8808d~8i4i~0i0d",
    "c000i c00b 48ci", /* K to O */
    "a000iai",
    "e0i007ce0ei",
    "c0i00cic0",
    "c60~c0~ci6i~0i~0060",
    "c0i0070~c0~ca7a0a", /* P to T */
    "c60~c0~ci6i~0i~0060 8edj",
    "c0i0070~c0~ca7a0a 6aci",
    "cb3~a060~0004~0869~cacd~ci6i~0i0f",
    "c00c0 606i",
    "c000c~0i6i~ciccc0", /* U to Z */
    "c006ic0",
    "g004i83cig0",
    "c00ci c00i",
    "c0069c0 696i",
    "c00c00ici",
    "440000k4k", /* [ to ` */
    "8008k",
    "400404k0k",
    "a0550a5",
    "a0kak",
    "30033",
    "a56~06~0i5i~ai~a656 a6ai", /* a to e */
    "a56~06~0i5i~ai~a656 000i",
    "aa8~9656~06~0i5i~9iag",
    "a56~06~0i5i~ai~a656 a0ai",
    "a0cac~a656~06~0i5i~9iag",
    "770~40454i 0676", /* f to j */
    "a56~06~0i5i~ai~a656 a6ak~ao5o~1o0n",
    "a000i 0b~0656~a6abai",
    "0060i 0203",
    "4464k~4o0o 4243",
    "a000i 960f 3cai", /* k to o */
    "2000g~0i2i",
    "g060i 0a~0646~868a8i 8a~86c6~g6gagi",
    "a060i 0b~0656~a6abai",
    "a56~06~0i5i~ai~a656",
    "a56~06~0i5i~ai~a656 060o", /* p to t */
    "a56~06~0i5i~ai~a656 a6ao",
    "6060i 0b~0666",
    "887~8646~0609~0b4c~8d8f~8i4i~0i0g",
    "7424e~4i7i 0676",
    "a060d~0i5i~aiad a6ai", /* u to z */
    "a065ia6",
    "g064i88cig6",
    "a06ai a60i",
    "a065i a62o",
    "a06a60iai",
    "660~30~3a0a~3a~3k6k", /* { to ~ */
    "0000k",
    "600~30~3a6a~3a~3k0k",
    "c0d~386b~9ec9",
};

static double number(char c) { return (c <= '9' ? c - '0' : c - 'a' + 10) * .5; }

typedef struct {
    dg_canvas *canvas;
    double x, y, scale, weight;
    bool upwards;
} pen;

static void stroke(const pen *p, const double a[2], const double b[2])
{
    double ax = a[0] * p->scale, ay = (a[1] - 9) * p->scale, bx = b[0] * p->scale, by = (b[1] - 9) * p->scale;
    if (p->upwards) dg_draw_line(p->canvas, p->x + ay, p->y - ax, p->x + by, p->y - bx, p->weight);
    else dg_draw_line(p->canvas, p->x + ax, p->y + ay, p->x + bx, p->y + by, p->weight);
}

static void curve(const pen *p, const double a[2], const double control[2], const double b[2])
{
    double from[2] = {a[0], a[1]};
    for (int i = 1; i <= 8; i++) {
        double t = i / 8.0, to[2];
        for (int k = 0; k < 2; k++) to[k] = (1 - t) * (1 - t) * a[k] + 2 * t * (1 - t) * control[k] + t * t * b[k];
        stroke(p, from, to);
        memcpy(from, to, sizeof from);
    }
}

static void glyph(const pen *p, const char *s)
{
    double at[2] = {0, 0}, control[2] = {0, 0};
    bool down = false, bent = false; /* down: a stroke has begun; bent: the last point was a control point */
    for (s++; *s; s++) {
        if (*s == ' ') {
            down = false;
            continue;
        }
        bool is_control = *s == '~';
        if (is_control) s++;
        double to[2] = {number(s[0]), number(s[1])};
        s++;
        if (is_control && bent) {
            double middle[2] = {(control[0] + to[0]) / 2, (control[1] + to[1]) / 2};
            curve(p, at, control, middle);
            memcpy(at, middle, sizeof at);
        }
        if (is_control) {
            memcpy(control, to, sizeof control);
            bent = true;
            continue;
        }
        if (bent) curve(p, at, control, to);
        else if (down) stroke(p, at, to);
        memcpy(at, to, sizeof at);
        down = true;
        bent = false;
    }
}

static const char *next(const char **text)
{
    unsigned char c = (unsigned char)*(*text)++;
    while (((unsigned char)**text & 0xc0) == 0x80) ++*text;
    return GLYPH[c >= 32 && c < 127 ? c - 32 : '?' - 32];
}

enum { GAP = 2 }; /* units between two glyphs */

double dg_text_width(double scale, const char *text)
{
    double width = 0;
    while (*text) width += number(*next(&text)) + GAP;
    return width > 0 ? (width - GAP) * scale : 0;
}

void dg_draw_text(dg_canvas *c, double x, double y, double scale, double weight, bool upwards, const char *text)
{
    pen p = {c, (int)(x + .5) + .5, (int)(y + .5) + .5, scale, weight, upwards};
    while (*text) {
        const char *g = next(&text);
        glyph(&p, g);
        double step = (number(*g) + GAP) * scale;
        if (upwards) p.y -= step;
        else p.x += step;
    }
}
