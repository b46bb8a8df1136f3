/**
 * Clocks on walls: offsets of a time zone of IANA's list, as Node's ICU knows them.
 *
 * A local time is a number of milliseconds since 1970 as a clock on the wall shows it, so that
 * days, weeks and months of it are found as those of UTC are.
 */
import { IngestError } from '../../errors.ts'

export const UTC = 'UTC'

/** From `fromMs` on clocks are `offsetMs` ahead of UTC. */
interface Offset {
  readonly fromMs: number
  readonly offsetMs: number
}

const HOUR_MS = 3_600_000
/** Zones change their offsets less often. */
const LOOK_MS_MIN = 7 * 24 * HOUR_MS
/**
 * A look takes microseconds of the main thread. Of ranges past ten years they are further apart,
 * and past a century they miss changes: some buckets then begin an hour off.
 */
const LOOKS_MAX = 500
const MINUTE_MS = 60_000
const NAME_CHARS_MAX = 64

export class TimeZone {
  readonly name: string
  readonly #format: Intl.DateTimeFormat

  /** Throws `malformed`; `member` is what it was given as. */
  constructor(member: string, name: string) {
    try {
      this.#format = new Intl.DateTimeFormat('en-US', {
        timeZone: name,
        timeZoneName: 'longOffset',
      })
    } catch {
      const shown = JSON.stringify(name.slice(0, NAME_CHARS_MAX))
      const rule = 'must be a time zone of the IANA list, such as "Europe/Berlin" or "UTC"'
      throw new IngestError('malformed', `"${member}" ${rule}, not ${shown}`)
    }
    this.name = this.#format.resolvedOptions().timeZone
  }

  offsetMsAt(ms: number): number {
    const parts = this.#format.formatToParts(ms)
    const text = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours, minutes = '0', seconds = '0'] =
      /GMT([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?/.exec(text) ?? []
    if (hours === undefined) return 0
    const offset = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000
    return sign === '-' ? -offset : offset
  }

  /** All offsets between two moments, by time; the first is that of `fromMs`. */
  offsetsBetween(fromMs: number, toMs: number): Offset[] {
    const offsets: Offset[] = [{ fromMs, offsetMs: this.offsetMsAt(fromMs) }]
    const lookMs = Math.max(LOOK_MS_MIN, Math.ceil((toMs - fromMs) / LOOKS_MAX))
    for (let at = fromMs; at < toMs; ) {
      const next = Math.min(at + lookMs, toMs)
      const { offsetMs } = offsets.at(-1)!
      if (this.offsetMsAt(next) !== offsetMs) {
        const changeMs = this.#findChange(at, next, offsetMs)
        offsets.push({ fromMs: changeMs, offsetMs: this.offsetMsAt(changeMs) })
      }
      at = next
    }
    return offsets
  }

  /** The first whole minute with another offset; there is one up to `toMs`. */
  #findChange(fromMs: number, toMs: number, offsetMs: number): number {
    let [low, high] = [Math.floor(fromMs / MINUTE_MS), Math.ceil(toMs / MINUTE_MS)]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.offsetMsAt(middle * MINUTE_MS) === offsetMs) low = middle
      else high = middle
    }
    return high * MINUTE_MS
  }
}

/**
 * The moment that clocks show `localMs`: the first of two, or that to which clocks are put forward
 * where no clock shows it. `offsets` are those around it.
 */
export function momentOf(localMs: number, offsets: readonly Offset[]): number {
  for (const [index, { fromMs, offsetMs }] of offsets.entries()) {
    const ms = localMs - offsetMs
    const endMs = offsets[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY
    // Before it begins: clocks were put forward past it.
    if (ms < endMs) return Math.max(ms, index === 0 ? ms : fromMs)
  }
  return localMs
}
