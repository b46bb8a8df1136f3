/** Abbreviations of time zones as network gear writes them, to minutes ahead of UTC. */

/** Those that mean one zone only, or one nearly always. */
const MINUTES: Readonly<Record<string, number>> = {
  ...{ UTC: 0, GMT: 0, UCT: 0, WET: 0, WEST: 60, BST: 60, CET: 60, CEST: 120, MET: 60, MEST: 120 },
  ...{ EET: 120, EEST: 180, SAST: 120, MSK: 180, SGT: 480, HKT: 480, AWST: 480, JST: 540 },
  ...{ KST: 540, ACST: 570, ACDT: 630, AEST: 600, AEDT: 660, NZST: 720, NZDT: 780 },
  ...{ NST: -210, NDT: -150, AST: -240, ADT: -180, EST: -300, EDT: -240, CST: -360, CDT: -300 },
  ...{ MST: -420, MDT: -360, PST: -480, PDT: -420, AKST: -540, AKDT: -480, HST: -600 },
}
const LETTERS_MAX = 5
/** Letters as digits of a number. */
const BASE = 32

const byNumber = new Map(
  Object.entries(MINUTES).map(([name, minutes]) => {
    let number = 0
    for (const letter of name) number = number * BASE + letter.charCodeAt(0) - 0x40
    return [number, minutes] as const
  }),
)

/** Where the capitals from `at` on end, of which a name may have five; else `at`. */
export function zoneNameEnd(bytes: Uint8Array, at: number, end: number): number {
  let stop = at
  while (stop < end && (bytes[stop]! - 0x41) >>> 0 < 26) stop++
  return stop - at <= LETTERS_MAX ? stop : at
}

/** Minutes ahead of UTC of the name; undefined for one that is not known. */
export function zoneMinutes(bytes: Uint8Array, at: number, end: number): number | undefined {
  let number = 0
  for (let i = at; i < end; i++) number = number * BASE + bytes[i]! - 0x40
  return byNumber.get(number)
}
