/** What the kernels' module exports; `workers/kernel/kernels.ts` has the types. */

export { appendRows, bindEvents, bindTemplates } from './columns'
export { copyBytes, hashText, isSameText } from './copy'
export { bindLayouts, bindStates, findLayouts, placeRows } from './layouts'
export { skipFields, writeMembers } from './otlp'
export { packDecimals, packHex, packUuids } from './pack'
export { stringStop } from './scan'
export { bindKeys, bindSecrets, findSuspect } from './secrets'
export { copyEntries, findFlagged, spliceEvent } from './splice'
export { parseObject } from './tape'
export { bindTape } from './tape-writer'
export { bindTrieKeys, bindTrieLinks } from './trie'
export { markRows, writeBooleans, writeFloats, writeIntegers, writeStrings } from './values'
