/** What the fixtures of stored segments hold: events of every kind, the same at each run. */
import { Random } from '../../bench/random.ts'

/** What JSON lets one write: all of it comes back as it was. */
export const ODD_EVENTS: readonly string[] = [
  '{}',
  '{"":""}',
  '{"a":{},"b":[],"c":"","d":null,"e":[[],{},""]}',
  '{ "spaces" : [ 1 ,\t2 ] , "end" : true }',
  '{"big":12345678901234567890,"int64":-9223372036854775808,"uint64":18446744073709551615}',
  '{"digits":123456789012345678901234567890,"exponent":1E+400,"minus":-0,"zeros":1.50}',
  '{"twice":1,"twice":"two","twice":{"x":[3]}}',
  '{"a.b":1,"a":{"b":2}}',
  '{"\\u0061":1,"a":2,"escapes":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00"}',
  '{"ключ":"значение","鍵":"値","emoji":"😀👩‍👩‍👧","accents":"é è"}',
  '{"lone":"\\ud800","zero":"\\u0000"}',
  '{"deep":{"a":{"b":{"c":[{"d":[[[1,"x",null,true]]]}]}}}}',
  '{"timestamp":"2026-01-02T03:04:05.678901234Z","level":"WARN","service":"checkout"}',
  '{"ts":"1969-12-31 23:59:59.5","severity":"fatal","service.name":"old"}',
  '{"mixed":[1,"1",1.5,null,true,{"a":1}],"level":30,"message":"pino says info"}',
]

export const TEXT_LINES: readonly string[] = Array.from({ length: 60 }, (_, i) => {
  const path = `/items/${(i * 7_919) % 1_000}?q="${i}"`
  const agent = i % 3 === 0 ? 'Mozilla/5.0 (X11; Linux x86_64)' : 'curl/8.5.0 — naïve\tclient'
  return `192.0.2.${i} - - "GET ${path}" ${200 + (i % 5)} ${i * 1_357} "${agent}" \\x16`
})

/** Events of one template, with small columns. */
export function smallEvents(count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    return `{"n":${i},"name":"${'ab'.repeat(i % 5)}","ok":${i % 2 === 0},"none":null,"o":{}}`
  })
}

/** Events of several templates, between them some that have none. */
export function variedEvents(): string[] {
  return Array.from({ length: 80 }, (_, i) => {
    if (i % 16 === 7) return `{"a.b":${i},"a":{"b":"raw"}}`
    if (i % 3 === 0) return `{"kind":"first","n":${i}}`
    if (i % 3 === 1) return `{"kind":"second", "n":${i}, "list":[${i},${i + 1}]}`
    return `{"kind":"third","text":"${'é'.repeat(i % 4)}","inner":{"f":${i / 8}}}`
  })
}

/** Columns of ever new digits: of every length that is packed, UUIDs, and some that are not. */
export function digitEvents(count: number): string[] {
  const random = new Random(1)
  const hex = (length: number) =>
    Array.from({ length }, () => random.below(16).toString(16)).join('')
  return Array.from({ length: count }, () => {
    const uuid = [8, 4, 4, 4, 12].map(hex).join('-')
    const packed = [8, 10, 16, 32, 64, 256].map((length) => `"h${length}":"${hex(length)}"`)
    const plain = `"odd":"${hex(9)}","short":"${hex(6)}","upper":"${hex(16).toUpperCase()}"`
    return `{${packed.join(',')},"uuid":"${uuid}",${plain},"n":${random.below(1e9)}}`
  })
}

/** Numbers of values that need each width of 0 to 8 bits, and the most there may be. */
const VALUE_COUNTS = [1, 2, 3, 8, 9, 32, 33, 100, 255]

/** Columns of few values: empty, short, of 15 to 17 bytes, long and not ASCII. */
export function dictionaryEvents(count: number): string[] {
  const texts = ['', 'é', 'fifteen-bytes-x', 'sixteen-bytes-xy', 'seventeen-bytes-x']
  const textOf = (number: number) => {
    const text = texts[number]
    return text ?? `v${number}${' long value'.repeat(number % 3)}`
  }
  return Array.from({ length: count }, (_, i) => {
    const columns = VALUE_COUNTS.map(
      (values) => `"v${values}":"${textOf((Math.floor(i / 2) * 31) % values)}"`,
    )
    // A column that fewer events have than there are.
    const some = i % 5 === 0 ? '' : `,"some":${1_000 + (i % 4)}`
    return `{${columns.join(',')}${some}}`
  })
}

/** What transforms change: secrets, user agents, JSON in strings. */
export const SECRET_EVENTS: readonly string[] = [
  '{"password":"hunter2","user":"ann","note":"nothing"}',
  '{"message":"login with token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLWJ5dGVz"}',
  '{"headers":{"Authorization":"Bearer abcdefghijklmnopqrstuvwxyz012345"}}',
  '{"log":"{\\"level\\":\\"error\\",\\"password\\":\\"hunter2\\",\\"n\\":1}\\n"}',
  '{"inner":"{\\"api_key\\":\\"0123456789abcdef0123456789abcdef\\"}"}',
  '{"user_agent":"Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/120.0.0.0 Safari/537.36"}',
  '{"url":"https://user:secret@example.com/a?access_token=abcdef0123456789","secret":"x"}',
]

export function wideEvents(count: number, paths: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const entries = Array.from({ length: paths }, (_, k) => `"p${k}":${(k * (i + 3)) % 97}`)
    return `{${entries.join(',')}}`
  })
}
