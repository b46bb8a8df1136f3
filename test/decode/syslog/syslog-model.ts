/**
 * What a message of syslog is, written with regular expressions and strings, and without a thought
 * of speed: what the decoder is held against.
 */
import { SYSLOG_FACILITIES, SYSLOG_SEVERITIES } from '../../../src/model/batch/syslog-part.ts'
import { modelPayload, structuredData } from './payload-model.ts'
import { modelTime } from './time-model.ts'

export interface ModelOptions {
  readonly peer: string
  readonly isCut: boolean
  readonly timeZone: string
  readonly receivedAtMs: number
}

export interface Modelled {
  readonly event: Record<string, unknown>
  /** Nanoseconds since 1970 in digits. */
  readonly time: string | undefined
}

export interface Read {
  host?: string
  app?: string
  procid?: string
  msgid?: string
  text: string
  sd?: Record<string, unknown>
  sequence?: number
  uptime?: string
  clock?: string
  tagSeverity?: number
  time?: bigint
  assumed?: { year?: number; zone?: string }
}

const LEVELS = new RegExp(
  `^(${'debug info notice warn warning err error crit critical alert'.replaceAll(' ', '|')}|` +
    'emerg|emergency|panic|fatal|trace)$',
  'i',
)
const TAG = '[A-Za-z0-9.\\-_/+@(),*]'

export function modelMessage(bytes: Uint8Array, options: ModelOptions): Modelled {
  const whole = Buffer.from(bytes)
    .toString('utf8')
    .replace(/[\r\n\0]+$/, '')
    .replace(/^\ufeff/, '')
  const found = /^[\0-\x20]*<([0-9]{1,3})>/.exec(whole)
  const priority = found !== null && Number(found[1]) < 192 ? Number(found[1]) : undefined
  const rest = priority === undefined ? whole : whole.slice(found![0].length).replace(/^ +/, '')
  const read = rfc5424(rest, options) ?? rfc3164(rest, options, priority !== undefined)
  const payload = modelPayload(read.text.replace(/^\ufeff/, ''))
  const isObject = payload.log !== undefined
  const severity = priority === undefined ? (read.tagSeverity ?? 5) : priority % 8
  const facility = priority === undefined ? 1 : Math.floor(priority / 8)
  const event = {
    ...(priority !== undefined || !isObject
      ? {
          facility: SYSLOG_FACILITIES[facility],
          facility_code: facility,
          severity: SYSLOG_SEVERITIES[severity],
          severity_code: severity,
        }
      : {}),
    ...(priority === undefined && !isObject ? { priority_assumed: true } : {}),
    host: read.host || options.peer || undefined,
    app: read.app || undefined,
    procid: read.procid || undefined,
    msgid: read.msgid || undefined,
    ...payload,
    timestamp_assumed: read.assumed,
    peer: options.peer || undefined,
    sd: read.sd,
    sequence: read.sequence,
    uptime: read.uptime,
    clock: read.clock,
    truncated: options.isCut ? true : undefined,
  }
  return { event: defined(event), time: read.time?.toString() }
}

function defined(event: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(event).filter(([, value]) => value !== undefined))
}

function rfc5424(text: string, options: ModelOptions): Read | undefined {
  const version = /^[1-9][0-9]{0,2} /.exec(text)
  if (version === null) return undefined
  let rest = text.slice(version[0].length)
  const read: Read = { text: '' }
  if (/^-( |$)/.test(rest)) rest = rest.slice(1)
  else {
    const time = modelTime(rest, options, 'iso')
    if (time === undefined) return meraki(rest, options)
    if (!/^( |$)/.test(time.rest)) return undefined
    Object.assign(read, { time: time.ns, assumed: time.assumed })
    rest = time.rest
  }
  for (const part of ['host', 'app', 'procid', 'msgid'] as const) {
    if (rest === '') return read
    const word = /^ ([^ ]*)/.exec(rest)!
    if (word[1] !== '-') read[part] = word[1]!
    rest = rest.slice(word[0].length)
  }
  rest = rest.slice(1)
  if (/^-( |$)/.test(rest)) rest = rest.slice(1)
  else {
    const data = structuredData(rest)
    if (data === undefined) return { ...read, text: rest }
    read.sd = data.sd
    rest = data.rest
  }
  return { ...read, text: rest.replace(/^ /, '') }
}

function meraki(rest: string, options: ModelOptions): Read | undefined {
  const time = modelTime(rest, options, 'epoch')
  if (time === undefined || time.rest === '') return undefined
  const words = /^ ([^ ]*)(?: (.*))?$/s.exec(time.rest)!
  const read: Read = { time: time.ns, host: words[1]!, text: words[2] ?? '' }
  const typed = /^([^ =]*) (.*)$/s.exec(read.text)
  return typed === null ? read : { ...read, app: typed[1]!, text: typed[2]! }
}

function rfc3164(text: string, options: ModelOptions, hasPriority: boolean): Read {
  const time = modelTime(text, options, 'any')
  if (time !== undefined && /^[\0- :]|^$/.test(time.rest)) {
    const { ns, assumed, clock } = time
    return origin({ text: time.rest.replace(/^:? */, ''), time: ns, assumed, clock } as Read)
  }
  const gear = prelude(text, options)
  if (gear !== undefined) return gear.host === undefined ? origin(gear) : tags(gear)
  return hasPriority || text.startsWith('%') ? tags({ text }) : { text }
}

function prelude(text: string, options: ModelOptions): Read | undefined {
  const read: Read = { text }
  let rest = text
  for (let i = 0; i < 5; i++) {
    rest = rest.replace(/^[ :]+/, '')
    if (rest === '') return undefined
    if (rest !== text) {
      if (/^[%#]/.test(rest)) return { ...read, text: rest }
      const time = modelTime(rest, options, 'any')
      if (time !== undefined) {
        if (!/^[ :]|^$/.test(time.rest)) return undefined
        const { ns, assumed, clock } = time
        return {
          ...read,
          ...defined({ time: ns, assumed, clock }),
          text: time.rest.replace(/^:? */, ''),
        }
      }
    }
    const uptime = /^(?:([0-9]+:[0-9]+:[0-9]+)|([0-9][0-9ywdhms]*))(?=:)/.exec(rest.slice(0, 64))
    const letters = uptime?.[2]?.replaceAll(/[0-9]/g, '').length ?? 2
    if (uptime !== null && letters > 1) {
      read.uptime = uptime[0]
      rest = rest.slice(uptime[0].length)
      continue
    }
    const token = new RegExp(`^(${TAG}+) *(?=:)`).exec(rest.slice(0, 64))
    if (token === null) return undefined
    const [all, word] = token as unknown as [string, string]
    if (/^[0-9]{1,15}$/.test(word)) read.sequence ??= Number(word)
    else if (word.startsWith('*')) read.app = word.slice(1)
    else if (!/^[A-Za-z0-9]/.test(word)) return undefined
    else if (read.host === undefined) read.host = word
    else read.app = word
    rest = rest.slice(all.length)
  }
  return undefined
}

function origin(read: Read): Read {
  const { text } = read
  if (isMarked(text) || text.startsWith('last message repeated ')) return read
  const word = /^[A-Za-z0-9.\-_:/@%[\]]{1,255}(?= )/.exec(text)?.[0]
  if (word === undefined || !isHost(word)) return tags(read)
  if (word.endsWith(']') && !word.startsWith('[')) {
    const tagged = tag(read)
    if (tagged !== undefined) return deviceTag(tagged)
  }
  const host = word === '-' ? {} : { host: word }
  return tags({
    ...read,
    ...host,
    text: text.slice(word.length).replace(/^ +/, '').replace(/^: /, ''),
  })
}

function isHost(word: string): boolean {
  if (!word.includes(':')) return word === '-' || /^[A-Za-z0-9[_]/.test(word)
  const address = word.split('%')[0]!
  return /^[0-9a-fA-F:.[\]]+$/.test(address) && address.split(':').length > 2
}

function isMarked(text: string): boolean {
  return /^(CEF:|LEEF:|@cee:)/.test(text)
}

function tags(read: Read): Read {
  if (isMarked(read.text)) return read
  const tagged = tag(read)
  if (tagged !== undefined) return deviceTag(tagged)
  const word = /^([A-Za-z]+) (?=.)/s.exec(read.text)
  if (word !== null && LEVELS.test(word[1]!)) {
    const text = read.text.slice(word[0].length)
    if (new RegExp(`^${TAG}{1,127}\\[`).test(text)) {
      const behind = tag({ ...read, text })
      if (behind !== undefined) return deviceTag(behind)
    }
  }
  return deviceTag(read)
}

function tag(read: Read): Read | undefined {
  const found = new RegExp(`^(?=${TAG}*[A-Za-z])(${TAG}{1,127})(?!${TAG})(.*)$`, 's').exec(
    read.text,
  )
  if (found === null) return undefined
  const [, app, rest] = found as unknown as [string, string, string]
  const process = /^\[([A-Za-z0-9.\-_:/#]*)\](?::|(?=[\0- ])|$) ?(.*)$/s.exec(rest)
  if (process !== null && process[1]!.length < 127) {
    return { ...read, app, procid: process[1]!, text: process[2]! }
  }
  if (app === 'MSWinEventLog' && rest.startsWith('\t')) return { ...read, app, text: rest.slice(1) }
  const colon = /^:(?: |(?=[\0-\x20{[@<"])|$)(.*)$/s.exec(rest)
  return colon === null || LEVELS.test(app) ? undefined : { ...read, app, text: colon[1]! }
}

function deviceTag(read: Read): Read {
  const huawei = /^%%[0-9]{2}(([A-Za-z0-9_]+)\/([0-9])\/[A-Za-z0-9_]+)/.exec(read.text)
  if (huawei !== null && huawei[0].length < 128) {
    const severity = Number(huawei[3])
    const tagSeverity = severity < 8 ? severity : undefined
    return { ...read, app: read.app || huawei[2]!, msgid: huawei[1]!, ...defined({ tagSeverity }) }
  }
  if (read.text.startsWith('%%')) return read
  const cisco = /^[%#]([A-Za-z0-9_/.-]+) *:/.exec(read.text.slice(0, 129))
  const parts = /^(.+)-([0-7])-/.exec(cisco?.[1] ?? '')
  if (parts === null) return read
  return { ...read, app: read.app || parts[1]!, msgid: cisco![1]!, tagSeverity: Number(parts[2]) }
}
