/**
 * Loki's push requests in JSON, also for `bench:rivals`: one stream of lines. Loki drops lines that
 * it has at the same time and refuses old ones, so each sending gets times of its own, a nanosecond
 * apart.
 */

const TIME_MARK = '\n["'
const TIME_CHARS = 19
const NANOS = 1_000_000_000n
const EVENTS_MAX = 1_000_000n

export function encodeLoki(lines: readonly string[]): Buffer {
  const zero = '0'.repeat(TIME_CHARS)
  const values = lines.map((line) => `${TIME_MARK}${zero}",${JSON.stringify(line)}]`)
  return Buffer.from(`{"streams":[{"stream":{"app":"bench"},"values":[${values.join(',')}]}]}`)
}

let lastNanos = 0n

export function refreshTimes(request: Buffer): void {
  const now = BigInt(Date.now()) * 1_000_000n
  if (now > lastNanos) lastNanos = now
  const left = lastNanos % NANOS
  // A request stays within one second, so that only nine digits change within it.
  const base = lastNanos - left + (left > NANOS - EVENTS_MAX ? NANOS : 0n)
  let rest = base > lastNanos ? 0 : Number(left)
  const seconds = String(base / NANOS)
  let at = request.indexOf(TIME_MARK)
  while (at >= 0) {
    const start = at + TIME_MARK.length
    request.write(seconds + String(rest++).padStart(9, '0'), start, 'latin1')
    at = request.indexOf(TIME_MARK, start + TIME_CHARS)
  }
  lastNanos = base + BigInt(rest)
}
