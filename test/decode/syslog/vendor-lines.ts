/** Lines as products send them, with what is expected of most: `vendor-lines.txt`. */
import { readFileSync } from 'node:fs'

export interface VendorLine {
  readonly vendor: string
  readonly text: string
  /** Paths of members with their values as text; undefined for those that are not to be there. */
  readonly expected: readonly (readonly [path: string, value: string | undefined])[]
}

/**
 * `## vendor`, then lines, in which `⇥` is a tab, and behind a line what is expected of it:
 *
 *     = host=web1 app=- sd>origin>ip=192.0.2.1,192.0.2.129 message=all of the rest
 *
 * `-` is for nothing, `>` leads into an object, `_` may be a space.
 */
export function readVendorLines(): readonly VendorLine[] {
  const url = new URL('../../../../test/decode/syslog/vendor-lines.txt', import.meta.url)
  const lines: VendorLine[] = []
  let vendor = ''
  for (const line of readFileSync(url, 'utf8').split('\n')) {
    if (line.startsWith('## ')) vendor = line.slice(3)
    else if (line.startsWith('= ')) {
      lines[lines.length - 1] = { ...lines.at(-1)!, expected: expectedOf(line.slice(2)) }
    } else if (line !== '') lines.push({ vendor, text: line.replaceAll('⇥', '\t'), expected: [] })
  }
  return lines
}

function expectedOf(text: string): VendorLine['expected'] {
  const rest = /(?:^| )(message|log)=(.*)$/.exec(text)
  const words = text
    .slice(0, rest?.index ?? text.length)
    .split(' ')
    .filter(Boolean)
  const pairs = words.map((word): [string, string] => {
    const equals = word.indexOf('=')
    return [word.slice(0, equals), word.slice(equals + 1)]
  })
  if (rest !== null) {
    const [, name, value] = rest as unknown as [string, string, string]
    // More may follow nothing.
    const more = /^-(?: (.*))?$/.exec(value)
    pairs.push([name, more === null ? value : '-'])
    if (more?.[1] !== undefined) return [...named(pairs), ...expectedOf(more[1])]
  }
  return named(pairs)
}

function named(pairs: readonly (readonly [string, string])[]): VendorLine['expected'] {
  return pairs.map(([path, value]) => [path, value === '-' ? undefined : value])
}
