/** What the kernels' module exports; `workers/kernel/kernels.ts` has the types. */

export { appendRows, bindEvents, bindTemplates } from './columns'
export { copyBytes, hashText, isSameText } from './copy'
export { bindLayouts, bindStates, findLayouts, placeRows } from './layouts'
export { packDecimals, packHex, packUuids } from './pack'
export { stringStop } from './scan'
export { bindKeys, bindSecrets, findSuspect } from './secrets'
export { copyEntries, findFlagged, spliceEvent } from './splice'
export { bindTape, bindTrieKeys, bindTrieLinks, parseObject } from './tape'
export { markRows, writeBooleans, writeFloats, writeIntegers, writeStrings } from './values'
