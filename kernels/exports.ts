/** What the kernels' module exports; `workers/kernel/kernels.ts` has the types. */

export { addSiblings } from './agents'
export { copyBytes, hashText, isSameText } from './copy'
export { writeLines } from './decode/lines'
export { skipFields, writeMembers } from './decode/otlp'
export { writePieces } from './decode/pieces'
export { decompress } from './decode/snappy'
export { escapeText, unescapeText } from './escape'
export { describeEvents, findLabels, rememberLabel, writeHalves, writeTimes } from './facts'
export { firstInnerKey, nextInnerKey } from './inner-keys'
export { findLayouts, placeRows } from './layouts'
export { findPatterns } from './patterns'
export { stringEnd } from './scan'
export {
  findSuspect,
  mayBeSecret,
  mayNameSecret,
} from './secrets'
export { appendRows, writeTemplate } from './segment/columns'
export { listValues, packNumbers } from './segment/dictionary'
export { countRepeated, endDigits, writeDigits } from './segment/digits'
export { packHex, packUuids } from './segment/pack'
export { writeStored } from './segment/stored'
export { unpackHex, unpackNumbers, unpackUuids } from './segment/unpack'
export { copyEntries, findFlagged, findNode, spliceEvent } from './splice'
export { parseObject } from './tape'
export { tryTime } from './times'
export {
  markRows,
  writeBooleanColumn,
  writeBooleans,
  writeFloatColumn,
  writeFloats,
  writeIntegerColumn,
  writeIntegers,
  writeStringColumn,
  writeStrings,
} from './values'
