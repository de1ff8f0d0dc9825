/* Made with Pillow 9.5.0 by tests/host/image/resize_expected.py, which exists only in commit 58d646d3. */
static const struct {
    int w, h, c, W, H;
    uint32_t crc;
} resized[] = {
    {1, 1, 3, 1, 1, 0x1b4adf42},       {1, 1, 1, 64, 64, 0xed4553b2},     {2, 2, 3, 3, 3, 0xcc9a88eb},
    {3, 2, 3, 2, 3, 0xb5db2bf2},       {64, 64, 3, 64, 64, 0x03e2bcef},   {64, 64, 3, 32, 32, 0xc47b0c16},
    {32, 32, 3, 64, 64, 0x6e83ae42},   {65, 63, 3, 64, 64, 0x3084a5dd},   {500, 375, 3, 64, 64, 0x96fcb8b8},
    {375, 500, 1, 64, 64, 0x10dd6f54}, {1000, 7, 3, 64, 64, 0x6072941c},  {7, 1000, 3, 64, 64, 0xd7a74239},
    {64, 200, 3, 64, 100, 0x414758c6}, {200, 64, 3, 100, 64, 0xf67500c5}, {1920, 1080, 3, 128, 72, 0xec18e80a},
    {5, 5, 3, 1, 1, 0xa1edbaa9},       {17, 31, 1, 13, 256, 0x2abdb3b8},
};
static const struct {
    int w, h, size;
    uint32_t crop, pad;
} fitted[] = {
    {64, 64, 64, 0x97149c55, 0x97149c55},    {100, 50, 64, 0x4487059f, 0x41ebab00},
    {50, 100, 64, 0x8cc8a668, 0x8f2c1011},   {101, 50, 64, 0x66e773a3, 0xc06bc27c},
    {99, 50, 33, 0x4e03dccc, 0x48d21ebe},    {1, 300, 16, 0x21b9ac9e, 0xa0c2e232},
    {300, 1, 16, 0xfc8f3b76, 0x3227c063},    {640, 427, 64, 0xc82e19ac, 0xcf3e8a71},
    {427, 640, 128, 0xfa90856a, 0xddd51829}, {3, 2, 256, 0x041ed082, 0xdd45db1e},
    {17, 19, 32, 0x09856f2b, 0xd76abb56},    {67, 64, 64, 0x28b7719c, 0x4ff3d5d5},
    {64, 67, 64, 0x012673c6, 0x7f2ee689},    {69, 64, 64, 0x8ec7d571, 0xc4015603},
};
/* w x h to W x H; by the same functions for rectangles, with Pillow 13.0.0 */
static const struct {
    int w, h, W, H;
    uint32_t crop, pad;
} rectangle[] = {
    {100, 50, 48, 64, 0xd06c8c98, 0x1dffa46a}, {50, 100, 64, 40, 0xb1f50c2c, 0xf99ae5ea},
    {101, 50, 33, 20, 0xb56185be, 0xbf5df3c2}, {1, 300, 16, 24, 0x8317ea9f, 0xfd7a1644},
    {300, 1, 24, 16, 0xbe7fc4b1, 0x1fb4a51c},  {640, 427, 64, 96, 0xccd39372, 0x20df8ef9},
    {3, 2, 100, 256, 0xc989ee88, 0xdffd0895},  {48, 64, 48, 64, 0xda853643, 0xda853643},
    {97, 128, 48, 64, 0xaa0d7a91, 0x7983bb63},
};
/* CRC-32 of the first 100, 200, ..., 1,000 resized images of random sizes. */
static const uint32_t many[10] = {
    0x4efc47e0, 0xf5a8cab7, 0x9a8c9b7a, 0x1a06b7ad, 0x19c25413,
    0xeb1b613d, 0x182169cd, 0x238bc71b, 0xb23338b2, 0xf5feacff,
};
