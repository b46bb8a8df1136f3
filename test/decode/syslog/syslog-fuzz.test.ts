/**
 * Goal: any bytes become one event, and the event that the model makes of them.
 * Method: messages are put together of what real ones have, in any order, cut and changed by bytes;
 * the model (`syslog-model.ts`) is written apart from the decoder, with regular expressions.
 */
import '../../kernel/checked-kernels.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fuzzed, testSeed } from '../../support/fuzzing.ts'
import { decodeSyslog, RECEIVED, type SentMessage } from './decode-syslog.ts'
import { modelMessage } from './syslog-model.ts'
import { readVendorLines } from './vendor-lines.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const PRIORITIES = ['<34>', '<0>', '<191>', '<192>', '<013>', ' <6>', '<>', '<9', '', '', '<14> ']
const TIMES = [
  ...['Nov 27 10:00:00', 'Nov  7 10:00:00', 'Nov 7 10:00:00', 'nov 27 23:59:60', 'Dec 31 23:59:59'],
  ...[
    'Feb 29 10:00:00',
    'Feb 30 10:00:00',
    'Nov 28 11:59:59',
    'Nov 28 12:00:01',
    'Jan  1 00:00:00',
  ],
  ...['Nov 27 2026 10:00:00', '2026 Nov 27 10:00:00', 'Nov 27 10:00:00 2026', 'Nov 27 25:00:00'],
  ...[
    '*Mar  1 18:46:11.123',
    '.Nov 27 10:00:00.1',
    'Nov 27 10:00:00.123456789012',
    'Oct 25 02:30:00',
  ],
  ...[
    'Fri Nov 27 10:00:00 2026',
    'Fri, 27 Nov 2026 10:00:00',
    '27 Nov 2026 10:00:00',
    'Mar 29 02:30:00',
  ],
  ...[
    '2026-11-27T10:00:00',
    '2026-11-27 10:00:00,5',
    '2026/11/27 10:00:00.25',
    '2026-02-29T10:00:00',
  ],
  ...[
    '1795777200.123456789',
    '1795777200.5',
    '27-Nov-2026 10:00:00',
    '1899-01-01T00:00:00',
    'Nov 27',
  ],
]
const ZONES = [
  '',
  '',
  '',
  'Z',
  '+01:00',
  '-0530',
  ' +0200',
  ' CET',
  ' UTC',
  ' XYZ',
  ' UTC+2',
  '+25',
  '+1',
  ' GMT-',
]
const HOSTS = [
  ...[
    'web1',
    '10.0.0.1',
    '2001:db8::1',
    '-',
    'fe80::1%eth0',
    'a/b',
    'r1:',
    '("U7,x")',
    'WIN-1',
    'h.x_y',
  ],
  ...['asa1 :', 'last message repeated 2 times', '[::1]', 'CRON', 'date=1', 'host1 err'],
]
const TAGS = [
  ...[
    'sshd[812]:',
    'sshd:',
    'postfix/smtpd[1]:',
    'su(pam)[1]:',
    'kernel:',
    'app',
    'sshd[812]',
    'x[]:',
  ],
  ...[
    '%ASA-6-302013:',
    '%SYS-5-CONFIG_I:',
    '%A-B-9-C:',
    '%%01IFNET/4/LINK(l)[1]:',
    '%%10SHELL/5/X:',
  ],
  ...[
    '%MGBL-SYS-5-CONFIG_I :',
    'error:',
    'ERROR[1]:',
    '[12.34]',
    'MSWinEventLog\t1',
    'a,b-1.2+3:',
    '1:',
  ],
  ...[
    'err tmm[12]:',
    'notice mcpd:',
    'foo{',
    '@cee:',
    'CEF:',
    'Ebra: %LINEPROTO-5-UPDOWN:',
    '%',
    '%%',
  ],
]
const PRELUDES = [
  '123:',
  'r1:',
  '000042:',
  ':',
  '*task0:',
  '3w1d:',
  '00:00:46:',
  'RP/0/CPU0:',
  '1234567890123456:',
]
const ELEMENTS = [
  ...[
    '-',
    '[a]',
    '[a b="c"]',
    '[a b="c"][d e="f"]',
    '[a b="1" b="2"][a b="3"]',
    '[a b="x\\"y\\\\z\\]"]',
  ],
  ...[
    '[a b="\\n"]',
    '[a  b="c" ]',
    '[a b=c]',
    '[a b="c',
    '[]',
    '[a b="]"]',
    '[ex@32473 i.p="ü"]',
    '[a b=""]',
  ],
]
const TEXTS = [
  ...[
    '',
    'text',
    ' indented',
    '\ufefftext',
    'a\0b',
    'tab\tand "quotes" \\ and \n',
    'ü€😀',
    '{"a":1}',
  ],
  ...[
    '{"a":1',
    '@cee:{"a":[1,{"b":null}]}',
    '@cee: {"a":1} ',
    '@cee: x',
    '{"a":1}x',
    ' {"é":"\\u0000"}',
  ],
  ...[
    'CEF:0|V|P|1|2|N|5|',
    'CEF:0|V|P|1|2|N|5',
    'CEF: 1|V\\|v|P\\\\|1|2|N n|5|a=b c=d e f=g',
    'CEF:0|V|',
  ],
  ...[
    'CEF:0|V|P|1|2|N|5|a=\\= b\\n c=x=y u=http://h/?q=1 a=2 ',
    'CEF:0|V|P|1|2|N|5|x',
    'CEF:0|V|P|1|2|N|5|a=',
  ],
  ...[
    'CEF:0|V|P|1|2|N|5|a=b\\ c=d name=x',
    'LEEF:1.0|V|P|1|2|a=b\tc=d e\tf',
    'LEEF:1.0|V|P|1|2|a=b c=d',
  ],
  ...[
    'LEEF:2.0|V|P|1|2|^|a=b^c=d^',
    'LEEF:2.0|V|P|1|2|x5E|a=b^c=d',
    'LEEF:2.0|V|P|1|2|0xA6|a=b¦c=d',
  ],
  ...[
    'LEEF:2.0|V|P|1|2|¦|a=b¦a=c',
    'LEEF:2.0|V|P|1|2||a=b\tc=\\=',
    'LEEF:2.0|V|P|1|2|a=b\tc=d',
    'LEEF:2.0|V|P|1|2|',
  ],
  ...[
    'LEEF:2.0|V|P|1|2|||a=b|c=d',
    'LEEF:2.0|V|P|1|2|\\t|a=b\tc=d',
    'LEEF:3.0|V|P|1|2|a=b',
    'LEEF:1.0|V',
  ],
]

const one = (list: readonly string[]) => fc.constantFrom(...list)
const old = fc
  .tuple(one(PRIORITIES), one(TIMES), one(ZONES), one([' ', ': ', '  ', ':', '']), one(HOSTS))
  .chain((head) => {
    return fc
      .tuple(one([' ', '  ', '']), one(TAGS), one([' ', '', '\t']), one(TEXTS))
      .map((tail) => {
        return [...head, ...tail].join('')
      })
  })
const gear = fc
  .tuple(one(PRIORITIES), fc.array(one(PRELUDES), { maxLength: 4 }), one(TIMES), one(ZONES))
  .chain(([priority, prelude, time, zone]) => {
    return fc.tuple(one([' ', '']), one([': ', ' ', '']), one(TAGS), one(TEXTS)).map((rest) => {
      const [space, colon, tag, text] = rest
      return `${priority}${prelude.join(space)}${space}${time}${zone}${colon}${tag} ${text}`
    })
  })
const WORDS = ['-', 'web1', 'app', '812', '', 'ID"47', 'ü', 'x\\y', '[a']
const modern = fc
  .tuple(one(PRIORITIES), one(['1', '1', '2', '999', '0', '']), one(TIMES), one(ZONES))
  .chain((head) => {
    const words = fc.array(one(WORDS), { minLength: 4, maxLength: 4 })
    return fc.tuple(words, one(ELEMENTS), one(TEXTS)).map(([four, elements, text]) => {
      const [priority, version, time, zone] = head
      return `${priority}${version} ${time}${zone} ${four.join(' ')} ${elements} ${text}`
    })
  })
const parts = fc
  .array(
    one([...PRIORITIES, ...TIMES, ...ZONES, ...HOSTS, ...TAGS, ...ELEMENTS, ...TEXTS, ' ', ' ']),
  )
  .map((all) => all.join(''))
const vendors = fc.constantFrom(...readVendorLines().map(({ text }) => text))
const message = fc.oneof(old, gear, modern, parts, vendors)
/** Changed by a byte, or cut. */
const changed = fc
  .tuple(message, fc.nat(), fc.nat(255), fc.constantFrom('keep', 'keep', 'set', 'insert', 'cut'))
  .map(([text, at, byte, change]) => {
    const bytes = Buffer.from(text)
    const place = at % (bytes.length + 1)
    if (change === 'keep') return bytes
    if (change === 'cut') return bytes.subarray(0, place)
    const rest = bytes.subarray(change === 'set' ? place + 1 : place)
    return Buffer.concat([bytes.subarray(0, place), Uint8Array.of(byte), rest])
  })
const sent = fc.record({ text: changed, peer: one(['', '10.0.0.9', '2001:db8::9']) })
const options = fc.record({
  timeZone: one([
    'UTC',
    'UTC',
    'Europe/Berlin',
    'America/St_Johns',
    'Australia/Lord_Howe',
    'Pacific/Kiritimati',
  ]),
  receivedAtMs: fc.constantFrom(
    RECEIVED,
    Date.parse('2026-01-01T00:30:00Z'),
    Date.parse('2024-02-29T12:00:00Z'),
    Date.parse('2026-10-25T01:10:00Z'),
    Date.parse('2026-12-31T23:30:00Z'),
  ),
})

function check(
  messages: readonly SentMessage[],
  given: { timeZone: string; receivedAtMs: number },
) {
  const { events, times, result } = decodeSyslog(messages, given)
  assert.equal(events.length, messages.length)
  assert.equal(result.rejected, 0)
  let repaired = 0
  for (const [i, { text, peer }] of messages.entries()) {
    const bytes = Buffer.from(text as string)
    const expected = modelMessage(bytes, { ...given, peer: String(peer), isCut: false })
    assert.deepEqual(JSON.parse(events[i]!), expected.event, bytes.toString())
    assert.equal(times[i], expected.time, bytes.toString())
    if (!bytes.equals(Buffer.from(bytes.toString()))) repaired++
  }
  assert.equal(result.repaired, repaired)
}

test('messages become the events of the model', () => {
  const batch = fc.array(sent, { minLength: 1, maxLength: 12 })
  fc.assert(fc.property(batch, options, check), fuzzed(seed, 200, 8_000))
})

test('any bytes give as many events as records', () => {
  const bytes = fc.uint8Array({ maxLength: 200 })
  const batch = fc.array(fc.record({ text: bytes, peer: one(['', 'h']) }), { maxLength: 20 })
  fc.assert(fc.property(batch, options, check), fuzzed(seed, 100, 4_000))
})
