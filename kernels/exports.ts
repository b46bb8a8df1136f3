/** What the kernels' module exports; `workers/kernel/kernels.ts` has the types. */

export { addSiblings, bindAgentFields, bindAgents } from './agents'
export { appendRows, bindTemplates, writeTemplate } from './columns'
export { copyBytes, hashText, isSameText } from './copy'
export { bindDictionary, listValues, packNumbers } from './dictionary'
export { unescapeText } from './escape'
export { bindEvents } from './events'
export { bindFacts, bindLayoutFacts, describeEvents, writeShapes, writeTimes } from './facts'
export { bindHeads, bindTokenEnds } from './formats'
export { bindSecretWords, firstInnerKey, nextInnerKey } from './inner-keys'
export { bindLayouts, bindStates, findLayouts, placeRows } from './layouts'
export { bindLines, writeLines } from './lines'
export { skipFields, writeMembers } from './otlp'
export { packDecimals, packHex, packUuids } from './pack'
export {
  bindKeys,
  bindNameEndings,
  bindSecrets,
  findSuspect,
  mayBeSecret,
  mayNameSecret,
} from './secrets'
export { copyEntries, findFlagged, findNode, spliceEvent } from './splice'
export { writeStored } from './stored'
export { parseObject } from './tape'
export { bindTape } from './tape-writer'
export { readTime } from './times'
export { bindTrieKeys, bindTrieLinks } from './trie'
export { unpackDecimals, unpackHex, unpackNumbers, unpackUuids } from './unpack'
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
