/** Times of syslog's messages by regular expressions; zones by asking Intl for each time. */
import type { ModelOptions } from './syslog-model.ts'

interface ModelTime {
  readonly ns: bigint
  readonly rest: string
  readonly assumed: { year?: number; zone?: string } | undefined
  readonly clock: string | undefined
}

const DAY = 86_400_000
const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const MONTH = `(${MONTHS.join('|')})`
const CLOCK = '([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?'
const YEAR = '((?:19|20)[0-9]{2})'
const WEEKDAY = '(?:mon|tue|wed|thu|fri|sat|sun),? '
/** Each with its groups: year, month, day, hour, minute, second, fraction, year behind. */
const FORMS = {
  iso: new RegExp(`^([0-9]{4})(?<by>[-/])([0-9]{2})\\k<by>([0-9]{2})[Tt ]${CLOCK}`),
  month: new RegExp(
    `^(?:${YEAR} |${WEEKDAY})?${MONTH} +([0-9]{1,2}) (?:${YEAR} )?${CLOCK}` +
      `(?: ${YEAR}(?= |:(?: |$)|$))?`,
    'i',
  ),
  day: new RegExp(`^(?:${WEEKDAY})?([0-9]{1,2})([ -])${MONTH}\\2${YEAR} ${CLOCK}`, 'i'),
  epoch: /^([0-9]{9,10})\.([0-9]+)(?= |$)/,
}
const ZONES: Readonly<Record<string, number>> = {
  ...{ UTC: 0, GMT: 0, UCT: 0, WET: 0, WEST: 1, BST: 1, CET: 1, CEST: 2, MET: 1, MEST: 2, EET: 2 },
  ...{ EEST: 3, SAST: 2, MSK: 3, SGT: 8, HKT: 8, AWST: 8, JST: 9, KST: 9, ACST: 9.5, ACDT: 10.5 },
  ...{ AEST: 10, AEDT: 11, NZST: 12, NZDT: 13, NST: -3.5, NDT: -2.5, AST: -4, ADT: -3, EST: -5 },
  ...{
    EDT: -4,
    CST: -6,
    CDT: -5,
    MST: -7,
    MDT: -6,
    PST: -8,
    PDT: -7,
    AKST: -9,
    AKDT: -8,
    HST: -10,
  },
}

interface Fields {
  readonly year: number | undefined
  readonly month: number
  readonly day: number
  readonly clock: readonly (string | undefined)[]
}

export function modelTime(
  given: string,
  options: ModelOptions,
  kind: 'iso' | 'epoch' | 'any',
): ModelTime | undefined {
  const mark = kind === 'any' ? /^[*.]/.exec(given)?.[0] : undefined
  const text = mark === undefined ? given : given.slice(1)
  const clock = mark === undefined ? undefined : mark === '*' ? 'unset' : 'unsynced'
  if (kind !== 'iso') {
    const epoch = FORMS.epoch.exec(text)
    if (epoch !== null && Number(epoch[1]) < 9_214_646_400) {
      const ns = BigInt(epoch[1]!) * 1_000_000_000n + nanos(epoch[2])
      return { ns, rest: text.slice(epoch[0].length), assumed: undefined, clock }
    }
    if (kind === 'epoch') return undefined
  }
  const read = kind === 'iso' ? iso(text) : (iso(text) ?? monthFirst(text) ?? dayFirst(text))
  if (read === undefined) return undefined
  const [fields, length] = read
  const { clock: digits } = fields
  if (Number(digits[0]) > 23 || Number(digits[1]) > 59 || Number(digits[2]) > 60) return undefined
  const { offset, rest } = zone(text.slice(length))
  const decided = decide(fields, offset, options)
  if (decided === undefined) return undefined
  return {
    ns: BigInt(decided.ms) * 1_000_000n + nanos(digits[3]),
    rest,
    assumed: decided.assumed,
    clock,
  }
}

function iso(text: string): [Fields, number] | undefined {
  const found = FORMS.iso.exec(text)
  if (found === null) return undefined
  const [all, year, , month, day, ...clock] = found
  return [{ year: Number(year), month: Number(month), day: Number(day), clock }, all.length]
}

function monthFirst(text: string): [Fields, number] | undefined {
  // A year behind counts only where none is before.
  const found = FORMS.month.exec(text)
  if (found === null) return undefined
  const [all, before, month, day, between, hour, minute, second, fraction, behind] = found
  const early = before ?? between
  const isBehind = early === undefined && behind !== undefined
  const length = behind === undefined || isBehind ? all.length : all.length - 5
  const year = early ?? behind
  const clock = [hour, minute, second, fraction]
  const numbers = { month: MONTHS.indexOf(month!.toLowerCase()) + 1, day: Number(day) }
  // A year is before or between, not both.
  if (before !== undefined && between !== undefined) return undefined
  return [{ year: year === undefined ? undefined : Number(year), ...numbers, clock }, length]
}

function dayFirst(text: string): [Fields, number] | undefined {
  const found = FORMS.day.exec(text)
  if (found === null) return undefined
  const [all, day, , month, year, ...clock] = found
  const numbers = { month: MONTHS.indexOf(month!.toLowerCase()) + 1, day: Number(day) }
  return [{ year: Number(year), ...numbers, clock }, all.length]
}

function zone(text: string): { offset: number | undefined; rest: string } {
  const utc = /^z(?=[\0- :]|$)/i.exec(text)
  if (utc !== null) return { offset: 0, rest: text.slice(1) }
  const name = /^ ([A-Z]{1,5})(?![A-Z])/.exec(text)?.[1]
  const hours = name === undefined ? undefined : ZONES[name]
  const from = hours === 0 ? text.slice(1 + name!.length) : text.replace(/^ (?=\+|-[0-9])/, '')
  const digits =
    /^([+-])([01][0-9]|2[0-3]|[0-9](?![0-9]))(?::?([0-5][0-9])|(?!:?[0-9]{2}))(?=[\0- :]|$)/
  const found = digits.exec(from)
  if (found !== null && (hours === 0 || name === undefined)) {
    const minutes = Number(found[2]) * 60 + Number(found[3] ?? 0)
    return { offset: found[1] === '-' ? -minutes : minutes, rest: from.slice(found[0].length) }
  }
  if (name === undefined) return { offset: undefined, rest: text }
  const rest = text.slice(1 + name.length)
  if (hours !== undefined && /^[ :]|^$/.test(rest)) return { offset: hours * 60, rest }
  return { offset: undefined, rest: rest.startsWith(': %') ? rest : text }
}

function decide(
  { year, month, day, clock }: Fields,
  offset: number | undefined,
  { timeZone, receivedAtMs }: ModelOptions,
): { ms: number; assumed: ModelTime['assumed'] } | undefined {
  const latest = new Date(receivedAtMs + offsetAt(timeZone, receivedAtMs)).getUTCFullYear() + 1
  const years = year === undefined ? Array.from({ length: 10 }, (_, i) => latest - i) : [year]
  for (const one of years) {
    const date = new Date(Date.UTC(one, month - 1, day))
    if (one < 1900 || one > 2261 || month < 1 || month > 12) continue
    if (date.getUTCDate() !== day || date.getUTCMonth() !== month - 1) continue
    const seconds = (Number(clock[0]) * 60 + Number(clock[1])) * 60 + Number(clock[2])
    const local = date.getTime() + seconds * 1_000
    const ms = offset === undefined ? toUtc(timeZone, local, receivedAtMs) : local - offset * 60_000
    const fractionMs = Number(nanos(clock[3]) / 1_000_000n)
    if (year === undefined && ms + fractionMs > receivedAtMs + DAY) continue
    const assumed = {
      ...(year === undefined ? { year: one } : {}),
      ...(offset === undefined ? { zone: timeZone } : {}),
    }
    return { ms, assumed: Object.keys(assumed).length === 0 ? undefined : assumed }
  }
  return undefined
}

function nanos(fraction = ''): bigint {
  return BigInt(fraction.padEnd(9, '0').slice(0, 9))
}

function toUtc(timeZone: string, local: number, near: number): number {
  const [before, after] = [local - DAY, local + DAY].map((ms) => offsetAt(timeZone, ms))
  const found = [...new Set([before!, after!])]
    .map((offset) => local - offset)
    .filter((ms) => ms + offsetAt(timeZone, ms) === local)
  found.sort((a, b) => Math.abs(a - near) - Math.abs(b - near))
  return found[0] ?? local - before!
}

function offsetAt(timeZone: string, ms: number): number {
  if (timeZone === 'UTC') return 0
  const parts = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  }).formatToParts(ms)
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value)
  const local = Date.UTC(
    of('year'),
    of('month') - 1,
    of('day'),
    of('hour'),
    of('minute'),
    of('second'),
  )
  return local - Math.floor(ms / 1_000) * 1_000
}
