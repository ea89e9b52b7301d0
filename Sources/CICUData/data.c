// An empty ICU data package, in the layout of ICU's own stubdata (unicode/udata.h): a DataHeader, then an empty
// table of contents.
//
// GRDB imports Foundation, and Foundation brings 34 MB of ICU data about languages, which Ferry does not use.
// If this package is linked first, the linker omits the large one. With a Swift whose ICU has another version
// number, the binary only grows.
#include "CICUData.h"
#include <stdint.h>

typedef struct {
  uint16_t headerSize;
  uint8_t magic[2];
  uint16_t infoSize;
  uint16_t reserved;
  uint8_t isBigEndian;
  uint8_t charsetFamily;
  uint8_t sizeofUChar;
  uint8_t reservedByte;
  uint8_t format[4];
  uint8_t formatVersion[4];
  uint8_t dataVersion[4];
  uint32_t padding[2];
  uint32_t count;
  uint32_t tail[3];
} EmptyDataPackage;

__attribute__((aligned(16))) const EmptyDataPackage icudt76_dat = {
    .headerSize = 32,
    .magic = {0xda, 0x27},
    .infoSize = 20,
    .isBigEndian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
    .sizeofUChar = 2,
    .format = {'C', 'm', 'n', 'D'},
    .formatVersion = {1, 0, 0, 0},
};
