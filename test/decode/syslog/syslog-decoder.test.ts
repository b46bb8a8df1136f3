/**
 * Goal: a record is an event, whatever is in it, within bounds; what senders mean is in its fields.
 * Method: tables by hand here, products' lines in `vendor-lines.test.ts`, random messages against a
 * model in `syslog-fuzz.test.ts`. Each event's tape is held against that of its JSON.
 */
import '../../kernel/checked-kernels.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  EVENT_BYTES_MAX,
  SYSLOG_GENERATED_BYTES_MAX,
  SYSLOG_PAIRS_MAX,
} from '../../../src/limits.ts'
import {
  isTimeZone,
  SYSLOG_FACILITIES,
  SYSLOG_SEVERITIES,
} from '../../../src/model/batch/syslog-part.ts'
import { readLevel } from '../../../src/model/event-labels.ts'
import { SyslogDecoder } from '../../../workers/decode/syslog/syslog-decoder.ts'
import { TRIE_NODES_MAX } from '../../../workers/tape/path-trie.ts'
import { cpuNow } from '../../support/cpu-time.ts'
import { fuzzed, ONLY_LONG, someOf, testSeed } from '../../support/fuzzing.ts'
import { decodeGenerated, target } from '../generated-events.ts'
import {
  decodeBody,
  decodeSyslog,
  encodeRecords,
  eventOf,
  isoOf,
  learn,
  RECEIVED,
} from './decode-syslog.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

test('a record has a peer, which is the host where the message names none', () => {
  const { events, result } = decodeSyslog([
    { text: '<13>1 - web1 app - - - one', peer: '10.0.0.1' },
    { text: '<13>two', peer: '2001:db8::1' },
    { text: '<13>three' },
    { text: '<13>four', peer: 'not ascii: é' },
  ])
  const found = events.map((event) => {
    const { host, peer, message } = JSON.parse(event) as Record<string, unknown>
    return [host, peer, message]
  })
  assert.deepEqual(found, [
    ['web1', '10.0.0.1', 'one'],
    ['2001:db8::1', '2001:db8::1', 'two'],
    [undefined, undefined, 'three'],
    [undefined, undefined, 'four'],
  ])
  assert.deepEqual([result.accepted, result.acceptedBytes], [4, 26 + 7 + 9 + 8])
})

test('priorities are names and numbers; the severity says the level', () => {
  for (let priority = 0; priority < 192; priority++) {
    const event = eventOf(`<${priority}>x`)
    const [facility, severity] = [priority >> 3, priority & 7]
    assert.deepEqual(
      [event.facility, event.facility_code, event.severity, event.severity_code],
      [SYSLOG_FACILITIES[facility], facility, SYSLOG_SEVERITIES[severity], severity],
    )
    assert.equal(event.priority_assumed, undefined)
  }
  const levels = SYSLOG_SEVERITIES.map((text) => {
    return readLevel((path) => (path === 'severity' ? { isNumber: false, text } : undefined))
  })
  const expected = ['fatal', 'fatal', 'fatal', 'error', 'warn', 'info', 'info', 'debug']
  assert.deepEqual(levels, expected)
})

test('a message that was cut says so, and ends with a whole character', () => {
  const { events, result } = decodeSyslog([
    { text: Buffer.from('<13>aé').subarray(0, -1), isCut: true },
    { text: Buffer.from('<13>a😀').subarray(0, -1), isCut: true },
    { text: '<13>aé', isCut: true },
  ])
  const messages = events.map((event) => JSON.parse(event) as Record<string, unknown>)
  assert.deepEqual(
    messages.map(({ message }) => message),
    ['a', 'a', 'aé'],
  )
  assert.ok(messages.every(({ truncated }) => truncated === true))
  assert.equal(result.repaired, 0)
  assert.equal(eventOf('<13>x').truncated, undefined)
})

test('what is not UTF-8 is repaired by messages, and counted', () => {
  const latin1 = Buffer.from('<13>Nov 27 10:00:00 fw app[1]: Stra\u00dfe', 'latin1')
  const good = '<13>Nov 27 10:00:00 fw app[1]: Straße'
  const isDirty = [true, true, false, false, true, false]
  for (const dirty of isDirty) {
    const { events, result } = decodeSyslog([{ text: good }, { text: dirty ? latin1 : good }])
    const last = JSON.parse(events[1]!) as Record<string, unknown>
    assert.equal(last.message, dirty ? 'Stra\ufffde' : 'Straße')
    assert.deepEqual([last.host, last.app], ['fw', 'app'])
    assert.equal((JSON.parse(events[0]!) as Record<string, unknown>).message, 'Straße')
    assert.equal(result.repaired, dirty ? 1 : 0)
  }
  const key = Buffer.from('<13>1 - - - - - [i\u00e9 a\u00e9="\u00e9"] x', 'latin1')
  assert.deepEqual(eventOf(key).sd, { 'i\ufffd': { 'a\ufffd': '\ufffd' } })
})

test('line feeds, returns and NUL end a message; within it they stay', () => {
  assert.equal(eventOf('<13>a\0b\nc\r\n\0').message, 'a\0b\nc')
  assert.equal(eventOf('<13>Nov 27 10:00:00 h app: \ttrace\n\tat x\n').message, '\ttrace\n\tat x')
})

test('empty parts and messages', () => {
  assert.deepEqual(decodeBody(Buffer.alloc(0)).events, [])
  const event = eventOf('', { peer: '10.0.0.1' })
  assert.deepEqual(
    [event.host, event.message, event.priority_assumed],
    ['10.0.0.1', undefined, true],
  )
})

test('a part that is no records fails as a whole', () => {
  const good = encodeRecords([{ text: '<13>x' }])
  const long = Buffer.from(good)
  long.writeUInt32LE(100)
  const bad = [
    Buffer.concat([good, Uint8Array.of(1)]),
    Buffer.concat([good, long]),
    Buffer.concat([good, Uint8Array.of(1, 0, 0, 0, 0)]),
    Buffer.concat([good, Uint8Array.of(3, 0, 0, 0, 0, 2, 0)]),
    Buffer.alloc(12, 255),
  ]
  for (const body of bad) {
    const { events, result } = decodeBody(body)
    assert.deepEqual(events, [])
    assert.match(result.fatal?.message ?? '', /^records\[\d\]: no record at byte \d+$/)
  }
})

test('times without a zone are those of the listener, its summer time included', () => {
  const table = [
    ['Europe/Berlin', 'Jul 14 12:00:00', '2026-07-14T10:00:00Z'],
    ['Europe/Berlin', 'Nov 27 12:00:00', '2026-11-27T11:00:00Z'],
    // Clocks go from 2:00 to 3:00, and in October back from 3:00 to 2:00.
    ['Europe/Berlin', 'Mar 29 01:59:59', '2026-03-29T00:59:59Z'],
    ['Europe/Berlin', 'Mar 29 02:30:00', '2026-03-29T01:30:00Z'],
    ['Europe/Berlin', 'Mar 29 03:00:00', '2026-03-29T01:00:00Z'],
    ['Europe/Berlin', 'Oct 25 01:59:59', '2026-10-24T23:59:59Z'],
    ['Europe/Berlin', 'Oct 25 02:30:00', '2026-10-25T01:30:00Z'],
    ['Europe/Berlin', 'Oct 25 03:00:00', '2026-10-25T02:00:00Z'],
    ['Australia/Lord_Howe', 'Jan 10 12:00:00', '2026-01-10T01:00:00Z'],
    ['Australia/Lord_Howe', 'Jul 10 12:00:00', '2026-07-10T01:30:00Z'],
    ['Asia/Kathmandu', '2026-11-27T10:00:00', '2026-11-27T04:15:00Z'],
    ['America/St_Johns', 'Nov 27 2026 01:00:00', '2026-11-27T04:30:00Z'],
    ['Europe/Berlin', 'Nov 27 12:00:00+00:00', '2026-11-27T12:00:00Z'],
  ] as const
  for (const [timeZone, time, expected] of table) {
    const event = eventOf(`<13>${time} h app: x`, { timeZone })
    assert.equal(event.time, expected, `${time} in ${timeZone}`)
    const isSaid = time.includes('+')
    const zone = (event.timestamp_assumed as { zone?: string }).zone
    assert.equal(zone, isSaid ? undefined : timeZone)
  }
  // Of the two times in October it is the one that is nearer to the receipt.
  for (const [received, expected] of [
    ['2026-10-25T00:31:00Z', '2026-10-25T00:30:00Z'],
    ['2026-10-25T01:31:00Z', '2026-10-25T01:30:00Z'],
  ] as const) {
    const receivedAtMs = Date.parse(received)
    const options = { timeZone: 'Europe/Berlin', receivedAtMs }
    assert.equal(eventOf('<13>Oct 25 02:30:00 h app: x', options).time, expected)
  }
})

test('the year is the latest that does not lie more than a day ahead', () => {
  const table = [
    ['2026-01-01T00:00:10Z', 'Dec 31 23:59:59', 2025],
    ['2026-12-31T23:59:50Z', 'Jan  1 00:00:10', 2027],
    ['2026-12-31T23:59:50Z', 'Dec 31 23:59:49', 2026],
    ['2026-06-15T12:00:00Z', 'Jun 16 11:59:59', 2026],
    ['2026-06-15T12:00:00Z', 'Jun 16 12:00:01', 2025],
    ['2028-02-29T12:00:00Z', 'Feb 29 12:00:00', 2028],
    ['2027-03-01T12:00:00Z', 'Feb 29 12:00:00', 2024],
    ['2104-02-01T12:00:00Z', 'Feb 29 12:00:00', 2096],
  ] as const
  for (const [received, time, year] of table) {
    // Twice, as the second one may be read by what was kept of the first.
    const text = `<13>${time} h app: x`
    const { events, times } = decodeSyslog([{ text }, { text }], {
      receivedAtMs: Date.parse(received),
    })
    assert.equal(times[0], times[1])
    assert.equal(isoOf(times[0]!).slice(0, 4), String(year), `${time} received ${received}`)
    for (const event of events) {
      const { timestamp_assumed: assumed } = JSON.parse(event) as Record<string, unknown>
      assert.deepEqual(assumed, { year, zone: 'UTC' })
    }
  }
})

test('time zones are known by their names', () => {
  assert.deepEqual(['UTC', 'Europe/Berlin', 'Mars/Olympus', ''].map(isTimeZone), [
    true,
    true,
    false,
    false,
  ])
})

test(`over ${SYSLOG_PAIRS_MAX} params, elements or members are text`, () => {
  const params = (count: number) => Array.from({ length: count }, (_, i) => ` n${i}="v"`).join('')
  const elements = (count: number) => Array.from({ length: count }, (_, i) => `[e${i}]`).join('')
  const members = (count: number) => Array.from({ length: count }, (_, i) => `n${i}=v`).join(' ')
  const modern = (data: string) => eventOf(`<13>1 - h app - - ${data} x`)
  assert.equal(
    Object.keys((modern(`[e${params(SYSLOG_PAIRS_MAX)}]`).sd as { e: object }).e).length,
    256,
  )
  assert.equal(Object.keys(modern(elements(SYSLOG_PAIRS_MAX)).sd as object).length, 256)
  for (const data of [`[e${params(SYSLOG_PAIRS_MAX + 1)}]`, elements(SYSLOG_PAIRS_MAX + 1)]) {
    const event = modern(data)
    assert.equal(event.sd, undefined)
    assert.equal(event.message, `${data} x`)
  }
  const cef = (count: number) => eventOf(`<13>CEF:0|V|P|1|2|N|5|${members(count)}`).cef
  assert.equal(Object.keys(cef(SYSLOG_PAIRS_MAX - 7) as object).length, SYSLOG_PAIRS_MAX)
  assert.equal(cef(SYSLOG_PAIRS_MAX - 6), undefined)
})

test('what was kept of earlier messages goes when a worker forgets its paths', () => {
  const known = '<13>Nov 27 10:00:00 h app: CEF:0|V|P|1|2|N|5|src=1 dst=2'
  const modern = '<14>1 - h app - - [a b="c" d="e\\]"][f g="h"] x'
  const usual = [known, modern, known, modern, known, modern].map((text) => ({ text }))
  const before = decodeSyslog(usual).events
  const { generation } = target.tape.trie
  const each = 250
  const others = Array.from({ length: Math.ceil(TRIE_NODES_MAX / each) }, (_, i) => {
    const names = Array.from({ length: each }, (_, j) => ` n${i}-${j}="v"`)
    return { text: `<13>1 - h app - - [e${names.join('')}] x` }
  })
  learn(others)
  // Each event's nodes are held against those of its JSON.
  assert.deepEqual(decodeSyslog(usual).events, before)
  assert.notEqual(target.tape.trie.generation, generation)
})

test('messages of 64 KiB are events whatever they are made of', () => {
  const pieces = [
    '\0',
    '"',
    '\\',
    '[a ',
    '[a b="',
    'a=',
    'a=\\',
    '|',
    'é',
    '\ufeff',
    '%A-1-',
    '1:',
    '{',
    ' ',
  ]
  const heads = ['<13>', '<13>1 - - - - - ', '<13>Nov 27 10:00:00 h ', '<13>CEF:0|V|P|1|2|N|5|', '']
  const all = heads.flatMap((head) => {
    return pieces.map((piece) => ({
      text: (head + piece.repeat(65_536 / piece.length)).slice(0, 65_536),
    }))
  })
  for (const message of someOf(all)) {
    const start = cpuNow()
    const { events } = decodeSyslog([message])
    assert.equal(events.length, 1)
    const ms = cpuNow() - start
    assert.ok(ms < 1_000, `${message.text.slice(0, 30)} takes ${ms} ms`)
  }
})

test('an event that would be too large is only text, or is rejected', () => {
  const value = '\u0001'.repeat(100 * 1024)
  const both = eventOf(`<13>CEF:0|V|P|1|2|N|5|a=${value}`)
  assert.equal(both.cef, undefined)
  assert.equal((both.message as string).length, value.length + 24)
  const tooLarge = `<13>${'x'.repeat(EVENT_BYTES_MAX)}`
  const { events, result } = decodeSyslog([{ text: 'a' }, { text: tooLarge }, { text: 'b' }])
  assert.equal(events.length, 2)
  assert.deepEqual([result.accepted, result.rejected], [2, 1])
  assert.match(result.rejects[0]?.message ?? '', /^records\[1\]: /)
  assert.equal(result.rejects[0]?.code, 'too_large')
})

test('a part that becomes over so many bytes fails', () => {
  const bytesMax = 2_000
  const decoder = new SyslogDecoder(target, bytesMax)
  const decode = (count: number) => {
    const body = encodeRecords(Array.from({ length: count }, () => ({ text: '<13>x' })))
    return decodeGenerated(body, body.length, (held) => {
      return decoder.decode(held, { start: 0, end: body.length }, {}, RECEIVED)
    })
  }
  const { length } = decode(1).events[0]!
  const most = Math.floor(bytesMax / (length + 1))
  assert.equal(decode(most).events.length, most)
  const { events, result } = decode(most + 1)
  assert.equal(events.length, 0)
  assert.equal(result.fatal?.code, 'too_large')
  assert.match(result.fatal?.message ?? '', /over 2000 bytes \(SYSLOG_GENERATED_BYTES_MAX\)$/)
})

test(`of a worker they are ${SYSLOG_GENERATED_BYTES_MAX}`, { skip: ONLY_LONG }, () => {
  const text = `<13>CEF:0|V|P|1|2|N|5|a=${'\u0001'.repeat(80_000)}`
  const { events, result } = decodeSyslog(Array.from({ length: 40 }, () => ({ text })))
  assert.equal(events.length, 0)
  assert.match(result.fatal?.message ?? '', /SYSLOG_GENERATED_BYTES_MAX/)
})

test('what was written as RFC 5424 is read as it was meant', () => {
  const name = fc.stringMatching(/^[!#-<>-\\^-~]{1,32}$/)
  const word = fc.option(fc.stringMatching(/^[!-,.-~][!-~]{0,40}$/), { nil: undefined })
  const nested = fc.dictionary(name, fc.dictionary(name, fc.string(), { maxKeys: 5 }), {
    maxKeys: 4,
  })
  const text = fc.string({ unit: 'grapheme' }).filter((each) => {
    return !/^\ufeff|[\r\n\0]$|^\s*(CEF:|LEEF:|@cee:|\{)/.test(each)
  })
  const sent = fc.record({
    ...{ priority: fc.nat(191), ms: fc.date({ min: new Date(0), noInvalidDate: true }) },
    ...{
      nanos: fc.nat(999_999),
      host: word,
      app: word,
      procid: word,
      msgid: word,
      sd: nested,
      text,
    },
  })
  fc.assert(
    fc.property(sent, ({ priority, ms, nanos, sd, text: message, ...words }) => {
      if (ms.getTime() > Date.UTC(2261, 0)) return
      const fraction = `${ms.toISOString().slice(0, -1)}${String(nanos).padStart(6, '0')}`
      const escaped = (value: string) => value.replaceAll(/["\\\]]/g, '\\$&')
      const elements = Object.entries(sd).map(([id, params]) => {
        return `[${id}${Object.entries(params)
          .map(([key, value]) => ` ${key}="${escaped(value)}"`)
          .join('')}]`
      })
      const { host = '-', app = '-', procid = '-', msgid = '-' } = words
      const head = `<${priority}>1 ${fraction}Z ${host} ${app} ${procid} ${msgid}`
      const event = eventOf(`${head} ${elements.join('') || '-'} \ufeff${message}`)
      const { facility_code, severity_code, facility, severity, time, ...rest } = event
      assert.equal(Number(facility_code) * 8 + Number(severity_code), priority)
      assert.deepEqual([SYSLOG_FACILITIES.indexOf(facility as 'kern')], [facility_code])
      assert.deepEqual([SYSLOG_SEVERITIES.indexOf(severity as 'err')], [severity_code])
      assert.equal(time, isoOf(String(BigInt(ms.getTime()) * 1_000_000n + BigInt(nanos))))
      const expected = {
        ...words,
        message: message || undefined,
        sd: elements.length > 0 ? sd : undefined,
      }
      assert.deepEqual(rest, JSON.parse(JSON.stringify(expected)))
    }),
    fuzzed(seed, 300, 4_000),
  )
})
