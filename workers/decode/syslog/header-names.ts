/** Names for the fields in the headers of CEF and LEEF, which stand there without names. */

const CEF = [
  ...['version', 'deviceVendor', 'deviceProduct', 'deviceVersion', 'deviceEventClassId'],
  ...['name', 'severity'],
]
const LEEF = ['version', 'vendor', 'product', 'productVersion', 'eventId']

/** All of them, one after another. */
export const HEADER_NAMES = Buffer.from([...CEF, ...LEEF].join(''))

/** Where names are in `HEADER_NAMES`: the first one's start, and the end of each. */
export const CEF_NAME_ENDS = endsOf(CEF, 0)
export const LEEF_NAME_ENDS = endsOf(LEEF, CEF_NAME_ENDS.at(-1)!)

function endsOf(names: readonly string[], start: number): readonly number[] {
  const ends = [start]
  for (const name of names) ends.push(ends.at(-1)! + name.length)
  return ends
}
