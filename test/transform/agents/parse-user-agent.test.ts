/**
 * Goal: browsers, systems and devices are what they are, bots are bots under their own names, and
 * nothing that a client writes into its string makes it more than strange.
 * Method: the labelled strings as a whole, single ones for each rule, generated ones.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readLabelledAgents, scoreAgents } from '../../../bench/user-agents/score.ts'
import { USER_AGENT_BYTES_MAX } from '../../../src/limits.ts'
import { KNOWN_BOTS } from '../../../workers/transform/agents/known-bots.ts'
import { INSIDE_CLIENTS, LEADING_CLIENTS } from '../../../workers/transform/agents/known-clients.ts'
import { parseUserAgent } from '../../../workers/transform/agents/parse-user-agent.ts'
import { cpuNow } from '../../support/cpu-time.ts'

const KEYS = [
  'browser_family',
  'browser_version',
  'os_family',
  'os_version',
  'device_family',
  'device_brand',
  'device_type',
]
const CHROME = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0'
const ON_IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_6_1 like Mac OS X) AppleWebKit/605.1.15 ' +
  '(KHTML, like Gecko) Version/17.6 Mobile/15E148 Safari/604.1'

function parse(text: string): Record<string, string> {
  const { json } = parseUserAgent(text)
  return json === '' ? {} : JSON.parse(json)
}

/** Family, version and system in one line. */
function summary(text: string): string {
  const facts = parse(text)
  const parts = KEYS.slice(0, 4).map((key) => facts[key] ?? '-')
  return [...parts, facts.device_type ?? '-'].join(' ')
}

test('the labelled set: shares right', () => {
  const scores = scoreAgents(readLabelledAgents(), parse)
  const least = [0.99, 0.99, 0.99, 0.98, 1]
  scores.forEach(({ name, right, of, wrong }, i) => {
    assert.ok(right / of >= least[i]!, `${name}: ${right} of ${of}; wrong: ${wrong.join('\n')}`)
  })
})

test('a bot is nothing else: no system, no device, whatever it pretends', () => {
  assert.deepEqual(parse(`${ON_IPHONE} (compatible; Googlebot/2.1; +http://www.google.com/bot)`), {
    browser_family: 'Googlebot',
    browser_version: '2.1',
    device_type: 'bot',
  })
})

test('bots that no list names, by their words, addresses and readers', () => {
  for (const [text, expected] of [
    ['Mozilla/5.0 (compatible; Acme-Crawler/1.2)', 'Acme-Crawler 1.2 - - bot'],
    ['Acme Web Spider 3.1', 'Acme Web Spider 3.1 - - bot'],
    ['Mozilla/5.0 (compatible; Acme/1.0; +https://acme.test/x)', 'Acme 1.0 - - bot'],
    ['Mozilla/5.0 (compatible; Acme/1.0; help@acme.test)', 'Acme 1.0 - - bot'],
    [`Mozilla/5.0 (X11; Linux x86_64) ${CHROME} Acme/2 (+http://a.test)`, 'Acme 2 - - bot'],
    [`Mozilla/5.0 (X11; Linux x86_64) ${CHROME} Safari/537.36 http://a.test/x`, '- - - - bot'],
    [
      'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; Acme/2.1) Safari/537.36',
      'Acme 2.1 - - bot',
    ],
    ['Mozilla/5.0 (compatible; acme-batch/2.0)', 'acme-batch 2.0 - - bot'],
    ['Acme/4.0 (http://acme.test/about)', 'Acme 4.0 - - bot'],
    ['Acme Reader - 12 subscribers', 'Acme Reader - - - bot'],
    ['acme-uptime/1.0', 'acme-uptime 1.0 - - bot'],
    ['Acme Health Check', 'Acme Health Check - - - bot'],
  ] as const) {
    assert.equal(summary(text), expected, text)
  }
})

test('no bots: phones by Cubot, models and apps with such words, libraries with an address', () => {
  for (const text of [
    `Mozilla/5.0 (Linux; Android 9; CUBOT_NOTE_20) ${CHROME} Mobile Safari/537.36`,
    `Mozilla/5.0 (Linux; Android 9; CUBOT X19 Build/O11019) ${CHROME} Mobile Safari/537.36`,
    `Mozilla/5.0 (Linux; Android 9; Talk Bot Build/O1) ${CHROME} Mobile Safari/537.36`,
    'Dalvik/2.1.0 (Linux; U; Android 11; CUBOT P50 Build/RP1A)',
    'Fitness Bot/2.1 (iPhone; iOS 16.2; Scale/3.00)',
    'Network Scanner/3 CFNetwork/1494.0.7 Darwin/23.4.0',
    'Mastodon/2023 CFNetwork/1485 Darwin/23.1.0',
    'node-fetch/1.0 (+https://github.com/node-fetch/node-fetch)',
    'my-client/2.0 (https://github.com/acme/my-client)',
    'Terraform/1.5.7 (+https://www.terraform.io)',
    'health-records-api/1.0',
    'Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; SV1; http://www.a.test)',
    'Mozilla/5.0 (Windows NT 6.1; Trident/7.0; Bar from: http://a.test; rv:11.0) like Gecko',
    'Mozilla/3.0 (compatible; Indy Library)',
  ]) {
    assert.notEqual(parse(text).device_type, 'bot', text)
  }
})

const PC = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)'

test('an address beside a browser is that of an extension or a page', () => {
  const chrome = 'Chrome 131.0.0.0 Windows 10 -'
  for (const [text, expected] of [
    [`${PC} ${CHROME} Safari/537.36 ||| Fetch; Initiator: https://shop.example`, chrome],
    [`${PC} ${CHROME} Safari/537.36 (https://acme.test/ext)`, chrome],
    [`${PC} ${CHROME} Safari/537.36 referer=https://acme.test/a?b=c`, chrome],
    [`${PC} ${CHROME} Safari/537.36 (ann@acme.test)`, chrome],
    [
      `${PC} ${CHROME} Safari/537.36 Edg/127.0.0.0 (https://github.com/acme/ext)`,
      'Edge 127.0.0.0 Windows 10 -',
    ],
    [
      'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0 (www.acme.test)',
      'Firefox 128.0 Linux - -',
    ],
    [`${ON_IPHONE} [https://acme.test]`, 'Mobile Safari 17.6 iOS 17.6.1 mobile'],
    // A product of its own, a plus, or nothing but the address: these come by themselves.
    [`${PC} ${CHROME} Safari/537.36 Acme/2 (https://acme.test)`, 'Acme 2 - - bot'],
    [`${PC} ${CHROME} Safari/537.36 (+https://acme.test)`, '- - - - bot'],
    [`${PC} ${CHROME} Safari/537.36 (Acme; +https://acme.test)`, '- - - - bot'],
    ['Mozilla/5.0 (compatible; Acme; https://acme.test)', 'Acme - - - bot'],
  ] as const) {
    assert.equal(summary(text), expected, text)
  }
})

test('however a string is spelled and quoted, it says the same', () => {
  const bing = 'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; '
  const agents = [
    `${PC} ${CHROME} Safari/537.36`,
    `${PC} ${CHROME} Safari/537.36 Edg/131.0.0.0`,
    ON_IPHONE,
    `${bing}+http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36`,
    'Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Trident/5.0)',
    'Mozilla/5.0 (compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)',
    'Dalvik/2.1.0 (Linux; U; Android 13; Pixel 7 Build/TQ3A)',
    'curl/8.5.0',
    'python-requests/2.31.0',
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
    'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0; Pro)',
    'Amazon CloudFront',
  ]
  const spellings: Readonly<Record<string, (text: string) => string>> = {
    percents: (text) => text.replaceAll(' ', '%20'),
    'all percents': (text) => encodeURIComponent(text).replace(/[()]/g, percent),
    'percents twice': (text) => encodeURIComponent(encodeURIComponent(text)),
    IIS: (text) => text.replaceAll(' ', '+'),
    form: (text) => encodeURIComponent(text).replace(/[()]/g, percent).replaceAll('%20', '+'),
    slashes: (text) => text.replaceAll('/', '\\/'),
    'slashes twice': (text) => text.replaceAll('/', '\\\\/'),
    hex: (text) => text.replaceAll('/', '\\x2F').replaceAll(' ', '\\x20'),
    unicode: (text) => text.replaceAll('/', '\\u002F'),
    entities: (text) => text.replaceAll('/', '&#x2F;').replaceAll('(', '&#40;'),
    quotes: (text) => `"${text}"`,
    apostrophes: (text) => `'${text}'`,
    'escaped quotes': (text) => `\\"${text}\\"`,
    'one quote': (text) => `${text}"`,
    typographic: (text) => `\u201c${text}\u201d`,
    list: (text) => `["${text}"]`,
    blanks: (text) => `  ${text}\t`,
    comma: (text) => `${text},`,
    header: (text) => `User-Agent: ${text}`,
  }
  for (const text of agents) {
    const expected = parse(text)
    assert.notDeepEqual(expected, {}, text)
    for (const [name, spell] of Object.entries(spellings)) {
      assert.deepEqual(parse(spell(text)), expected, `${name}: ${spell(text)}`)
    }
  }
})

test('the name of an app is decoded, and what only looks spelled stays', () => {
  const app = 'My%20App/2.1 CFNetwork/1410.0.3 Darwin/22.6.0'
  assert.equal(summary(app), 'My App 2.1 iOS 16 -')
  assert.equal(parse('acme-agent/1.0 (C++ on 100%25)').browser_version, '1.0')
  assert.equal(parse('100%25/1').device_type, undefined)
})

function percent(sign: string): string {
  return `%${sign.charCodeAt(0).toString(16).toUpperCase()}`
}

test('words in addresses say nothing', () => {
  const address = 'https://example.com/iphone-android/windows-nt-10.0/chrome/1.0'
  assert.deepEqual(parse(`Mozilla/5.0 (compatible; Foo/1.0; +${address})`), {
    browser_family: 'Foo',
    browser_version: '1.0',
    device_type: 'bot',
  })
  const client = { browser_family: 'WordPress', browser_version: '6.4.2' }
  assert.deepEqual(parse(`WordPress/6.4.2; ${address}`), client)
  assert.deepEqual(parse('Foo mailto:iphone@android.test'), parse('Foo +iphone.android.test/'))
})

test('Internet Explorer by its engine, not by the mode it is in', () => {
  const windows = 'Windows NT 6.1; WOW64'
  for (const [engine, version] of [
    ['; Trident/4.0', '8.0'],
    ['; Trident/5.0', '9.0'],
    ['; Trident/6.0', '10.0'],
    ['; Trident/7.0', '11.0'],
    ['', '7.0'],
  ]) {
    const text = `Mozilla/4.0 (compatible; MSIE 7.0; ${windows}${engine}; SLCC2)`
    assert.equal(summary(text), `IE ${version} Windows 7 -`)
  }
})

test('Apple’s systems by their kernel', () => {
  for (const [tail, expected] of [
    ['CFNetwork/673.0.3 Darwin/13.0.0 (x86_64) (MacBookPro8%2C1)', 'macOS 10.9'],
    ['CFNetwork/1220.1 Darwin/20.3.0 (x86_64)', 'macOS 11'],
    ['CFNetwork/672.1.14 Darwin/14.0.0', 'iOS 7'],
    ['CFNetwork/711.2.23 Darwin/14.0.0', 'iOS 8'],
    ['CFNetwork/1494.0.7 Darwin/23.4.0', 'iOS 17'],
    ['CFNetwork/3860.100.1 Darwin/25.0.0', 'iOS 26'],
    ['CFNetwork/9999 Darwin/99.0.0', 'iOS -'],
    ['Python/3.8.5 Darwin/19.6.0', 'macOS 10.15'],
    ['(Watch7,9; watchOS 11.4) Darwin/24.5.0', 'watchOS 11.4'],
  ]) {
    assert.equal(summary(`MyApp/2.1 ${tail}`), `MyApp 2.1 ${expected} -`)
  }
})

test('a placeholder for the model is none', () => {
  const frozen = `Mozilla/5.0 (Linux; Android 10; K) ${CHROME} Mobile Safari/537.36`
  assert.deepEqual(parse(frozen), {
    browser_family: 'Chrome',
    browser_version: '131.0.0.0',
    os_family: 'Android',
    os_version: '10',
    device_type: 'mobile',
  })
})

test('ordinary desktop browsers are told the same with all rules tried', () => {
  const systems = [
    'Windows NT 10.0; Win64; x64',
    'Windows NT 6.1; WOW64',
    'X11; Linux x86_64',
    'X11; Ubuntu; Linux i686',
    'Macintosh; Intel Mac OS X 10_15_7',
  ]
  const products = [
    `${CHROME} Safari/537.36`,
    `${CHROME} Safari/537.36 Edg/131.0.0.0`,
    `${CHROME} Safari/537.36 OPR/114.0.0.0`,
    `${CHROME} Safari/537.36 Vivaldi/6.6.3271.48`,
    'AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Safari/605.1.15',
    'Gecko/20100101 Firefox/132.0',
  ]
  for (const system of systems) {
    for (const product of products) {
      const text = `Mozilla/5.0 (${system}) ${product}`
      // A blank more, and it is no ordinary one.
      assert.deepEqual(parse(text), parse(`${text} `))
      assert.ok(parse(text).browser_family !== undefined && parse(text).os_family !== undefined)
    }
  }
})

test('each name of the lists is found where programs have it, and no longer word', () => {
  for (const line of KNOWN_BOTS) {
    const [name, spelled = name] = line.split(' = ')
    for (const text of [`${spelled}/1.0`, `Mozilla/5.0 (compatible; ${spelled}/1.0; x)`]) {
      assert.equal(parse(text).browser_family, name, text)
      assert.equal(parse(text).device_type, 'bot', text)
    }
    assert.notEqual(parse(`${spelled}xyz`).browser_family, name)
  }
  for (const line of [...LEADING_CLIENTS, ...INSIDE_CLIENTS]) {
    const [name, spelled = name] = line.split(' = ')
    assert.equal(parse(`${spelled}`).browser_family, name, line)
    assert.equal(parse(`${spelled}`).device_type === 'bot', false, line)
  }
})

const WORDS = [
  ...[
    'Mozilla/5.0 ',
    'compatible; ',
    '(',
    ')',
    ';',
    'bot',
    'robot ',
    'crawl',
    'Android ',
    '+http://',
  ],
  ...[
    'a@',
    '+a.b',
    '/1',
    '.',
    '-',
    '_',
    ' ',
    'Darwin/',
    'CFNetwork/',
    'iOS ',
    'OS X ',
    'Windows NT ',
  ],
  ...[
    'Trident/',
    'MSIE ',
    'health',
    'check',
    '1 subscribers',
    'Build/',
    'İ',
    'ſ',
    '\u0000',
    '"',
    '\\',
  ],
  ...['%2520', '\\\\/', '&#x2F;', '++', 'http://a.b ', '"  ', 'a@'],
  ...['Electron/', 'Chrome/1 ', 'Linux; U; ', 'scanner', 'Googlebot', 'K', '\ud800'],
]

test('any string: an object of known keys, or nothing', () => {
  const text = fc
    .array(fc.oneof(fc.constantFrom(...WORDS), fc.string()), { maxLength: 60 })
    .map((words) => words.join('').slice(0, USER_AGENT_BYTES_MAX))
  fc.assert(
    fc.property(text, (sent) => {
      const { json, fields } = parseUserAgent(sent)
      const facts = parse(sent)
      assert.equal(Object.keys(facts).length, fields)
      assert.ok(Object.keys(facts).every((key) => KEYS.includes(key)))
      assert.ok(Object.values(facts).every((value) => typeof value === 'string' && value !== ''))
      assert.equal(json, fields === 0 ? '' : JSON.stringify(facts))
    }),
    { numRuns: 2_000 },
  )
})

test('the longest strings of the same words over and over are no slower than others', () => {
  // Far above what any costs (0.2 ms): it is to catch an expression that is not linear.
  const limitMs = 100
  for (const first of WORDS) {
    for (const second of WORDS) {
      const repeated = (first + second).repeat(USER_AGENT_BYTES_MAX)
      const startMs = cpuNow()
      parseUserAgent(repeated.slice(0, USER_AGENT_BYTES_MAX))
      assert.ok(cpuNow() - startMs < limitMs, JSON.stringify([first, second]))
    }
  }
})
