/** What the kernels' module exports; `workers/kernel/kernels.ts` has the types. */

export { addSiblings, bindAgentFields, bindAgents } from './agents'
export { copyBytes, hashText, isSameText } from './copy'
export { bindNames } from './credential-marks'
export { unescapeText } from './escape'
export { bindEvents } from './events'
export { bindFacts, bindLayoutFacts, describeEvents, writeShapes, writeTimes } from './facts'
export { bindHeads, bindTokenEnds } from './formats'
export { bindSecretWords, firstInnerKey, nextInnerKey } from './inner-keys'
export { bindLayouts, bindStates, findLayouts, placeRows } from './layouts'
export { bindLines, writeLines } from './lines'
export { skipFields, writeMembers } from './otlp'
export {
  bindKeys,
  bindNameEndings,
  bindSecrets,
  findSuspect,
  mayBeSecret,
  mayNameSecret,
} from './secrets'
export { appendRows, bindTemplates, writeTemplate } from './segment/columns'
export { bindDictionary, listValues, packNumbers } from './segment/dictionary'
export { packDecimals, packHex, packUuids } from './segment/pack'
export { writeStored } from './segment/stored'
export { unpackDecimals, unpackHex, unpackNumbers, unpackUuids } from './segment/unpack'
export { copyEntries, findFlagged, findNode, spliceEvent } from './splice'
export { parseObject } from './tape'
export { bindTape } from './tape-writer'
export { readTime } from './times'
export { bindTrieKeys, bindTrieLinks } from './trie'
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
