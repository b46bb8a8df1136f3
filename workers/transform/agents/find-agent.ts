/**
 * Programs that are not browsers: bots of all kinds, and HTTP clients, tools, players, mail and
 * feed readers. First known names are tried, then general rules: words that the names of crawlers
 * and monitors contain, a contact address, a name and version at the beginning.
 */
import { findName, indexNames } from './agent-names.ts'
import { KNOWN_BOTS } from './known-bots.ts'
import { INSIDE_CLIENTS, LEADING_CLIENTS } from './known-clients.ts'

export interface Agent {
  readonly isBot: boolean
  /** Not known of a bot that gives an address alone. */
  readonly name: string | undefined
  readonly version: string | undefined
}

/** What `removeAddresses` took out. */
export type Address = 'none' | 'plain' | 'plus'

const NAMES = indexNames({ bot: KNOWN_BOTS, leading: LEADING_CLIENTS, inside: INSIDE_CLIENTS })

/** `cubot` makes phones. */
const BOT_WORD =
  /(?<!cu)bots?(?![a-z])|robot|crawl|spider|scrap(?:er|ing)|slurp|fetcher|archiver|favicon/g
/** Without one of these `BOT_WORD` finds nothing; looking for them is much cheaper. */
const BOT_LETTERS = [
  'bot',
  'crawl',
  'spider',
  'scrap',
  'slurp',
  'fetcher',
  'archiver',
  'favicon',
] as const
/** In names of services of one's own these words are common, so more of them is asked for. */
const MONITOR_WORD = new RegExp(
  [
    'health[-_ ]?check|uptime|pinger|liveness|readiness|heartbeat',
    '(?:monitor(?:ing)?|prober?)(?![a-z])',
    '(?:link|site|url|port|status)[-_ ]?check',
    '(?:link|html|css|feed|site|web)[-_ ]?validator',
    '(?:port|site|web|security|vulnerability)[-_ ]?scanner',
    'link[-_ ]?preview|feed[-_ ]?(?:parser|reader)',
  ].join('|'),
)
const READERS = /\d (?:subscribers?|readers?)(?![a-z])/
const APP = /cfnetwork|darwin|android|iphone|ipad|okhttp|dalvik|(?<![a-z])(?:ios|macos)(?![a-z])/
/** These put addresses of toolbars and vendors into their strings. */
const BROWSER = /msie |trident|konqueror|opera|netscape/
/** Where no browser writes anything, and alone after `compatible`, which browsers never are. */
const BOT_PLACE = new RegExp(
  [
    'like gecko; (?:compatible; )?(?=[a-z])',
    String.raw`^mozilla/\d\.0 \(compatible; ?(?=[\w.-]{1,64}/v?[\d.]{1,16}\)$)`,
  ].join('|'),
)
const FORGE = /\b(?:github|gitlab|bitbucket|npmjs|pypi|packagist)\b/i

/** A version after a name: `/1.2`, ` v1.2`, `-1.2`. */
const VERSION = /^(?: ?\/ ?v?|[ _-]v?|v)?(\d[\w.]{0,31})/
const LEADING_PRODUCT =
  /^(?:Python\/[\d.]{1,16} (?=[\w-]{1,32}\/\d))?([\w!.:'&-][\w!.:'& -]{0,63})\/v?(\d[\w.]{0,31})/

/** `text` is without the addresses of `raw`. */
export function findAgent(text: string, address: Address, raw: string): Agent | undefined {
  const isApple = text.includes('CFNetwork')
  const found = findName(text, NAMES, ({ kind, name, start, end }) => {
    if (kind === 'inside') return true
    if (kind === 'leading') return start === 0 && !/[-._]/.test(text[end] ?? '')
    // Not the end of a longer name: `acme-prometheus`.
    if (isApple || /[-_.]/.test(text[start - 1] ?? '') || isModel(text, start)) return false
    return start === 0 || name.includes(' ') || !/^ [a-z]/i.test(text.slice(end, end + 2))
  })
  if (found !== undefined) {
    const version = versionAt(text, found.end)
    return { isBot: found.kind === 'bot', name: found.name, version }
  }
  return isApple ? undefined : findUnknownBot(text, address, raw)
}

/** By what bots have in common. */
function findUnknownBot(text: string, address: Address, raw: string): Agent | undefined {
  const lower = text.toLowerCase()
  const isMozilla = lower.startsWith('mozilla')
  const isApp = !isMozilla && APP.test(lower)
  if (isApp && address === 'none') return undefined
  if (BOT_LETTERS.some((letters) => lower.includes(letters))) {
    BOT_WORD.lastIndex = 0
    for (let match = BOT_WORD.exec(lower); match !== null; match = BOT_WORD.exec(lower)) {
      if (isModel(text, match.index)) continue
      const own = isMozilla || lower.includes('compatible;') ? undefined : leadingProduct(text)
      if (own && text.lastIndexOf('(', match.index) > 0) return { ...own, isBot: true }
      return { isBot: true, ...productAt(text, match.index, BOT_WORD.lastIndex) }
    }
  }
  if (isMozilla) {
    const match =
      lower.includes('compatible') || lower.includes('gecko;') ? BOT_PLACE.exec(lower) : null
    if (match) {
      const at = match.index + match[0].length
      return { isBot: true, ...productAt(text, at, at) }
    }
  } else if (!isApp) {
    const match = MONITOR_WORD.exec(lower)
    if (match) {
      return { isBot: true, ...productAt(text, match.index, match.index + match[0].length) }
    }
  }
  if (address === 'none' && !(lower.includes('er') && READERS.test(lower))) return undefined
  if (address === 'plain' && (isMozilla ? BROWSER.test(lower) : isApp)) return undefined
  if (address === 'plain' && isMozilla && isBesideBrowser(raw)) return undefined
  if (!isMozilla && FORGE.test(raw)) return undefined
  return { isBot: true, ...productOfAddress(text, lower) }
}

/**
 * Whether the first address of a string stands in brackets, or behind words, after the products of
 * a browser: that of an extension, of a page. Bots have it alone, or behind a product of their own.
 */
function isBesideBrowser(raw: string): boolean {
  const start = raw.search(PLAIN_ADDRESS)
  if (start < 0) return false
  const before = raw.slice(0, start)
  const last = [...before.matchAll(PRODUCT)].at(-1)
  if (last === undefined || !BROWSER_PRODUCT.test(last[1]!)) return false
  return before.slice(last.index + last[0].length).trim() !== ''
}

/** Whether a word is part of an Android device's name, which the first comment ends with. */
function isModel(text: string, index: number): boolean {
  const end = text.indexOf(')')
  if (index > end || !text.startsWith('Mozilla/5.0 (Linux')) return false
  return text.slice(0, end).includes('Android') && !text.slice(0, index).includes('compatible')
}

const DELIMITERS = ' \t;,()/'

/** The product that has a word at `start`..`end` in its name: `WebAlta Crawler/2.0`. */
function productAt(text: string, start: number, end: number): Omit<Agent, 'isBot'> {
  let from = start
  // Words before it are part of the name, versions are not.
  for (let words = 0; words < 4; words++) {
    while (from > 0 && !DELIMITERS.includes(text[from - 1]!)) from--
    const word = /([A-Za-z!'&_-]+) $/.exec(text.slice(Math.max(0, from - 33), from))
    if (word === null || words === 3) break
    from -= word[0].length
  }
  let to = end
  while (to < text.length && !DELIMITERS.includes(text[to]!)) to++
  const product = text.slice(from, to)
  const name = product.replace(/(?:[-_. ]?v?\d[\d.]{0,31}[a-z]?)?[-_+.:]?$/, '')
  return { name: name === '' ? product : name, version: versionAt(text, to) }
}

/** The product of a string that gives an address: in the comment with it, or before that. */
function productOfAddress(text: string, lower: string): Omit<Agent, 'isBot'> {
  const compatible = lower.lastIndexOf('compatible;')
  const own = compatible < 0 ? text : text.slice(compatible + 'compatible;'.length)
  const match = /^\s*([\w!.:'&-][\w!.:'& -]{0,63}?)(?= ?[/;,()]| ?v?\d+\.| -|$)/.exec(own)
  const name = match?.[1]
  if (match === null || name === undefined || /^mozilla$/i.test(name)) return lastProduct(text)
  return { name, version: versionAt(own, match[0].length) }
}

const PRODUCT = /(?<![\w.-])([A-Za-z][\w.-]{0,63})\/v?(\d[\w.]{0,31})/g
/** Products that only browsers have at their end. */
const BROWSER_PRODUCT = new RegExp(
  '^(?:Safari|Chrome|Chromium|Firefox|Gecko|Version|Mobile|Edge?|EdgA|EdgiOS|OPR|OPX|OPT|Opera|' +
    'Vivaldi|Brave|YaBrowser|Yowser|SamsungBrowser|CriOS|FxiOS|Focus|Klar|DuckDuckGo|Ddg|' +
    'UBrowser|UCBrowser|MiuiBrowser|HuaweiBrowser|HeyTapBrowser|VivoBrowser|QQBrowser|Whale|' +
    'Silk|Seamonkey|PaleMoon|Waterfox|Iceweasel|Epiphany|Falkon|QtWebEngine|Avast|AVG|CCleaner|' +
    'Coc_Coc_browser|Sleipnir|Puffin|Maxthon|Iron|Instabridge|GSA|Ecosia)$',
  'i',
)
const PLAIN_ADDRESS = /\b(?:https?|mailto):|\bwww\.|[\w.-]{1,64}@[\w.-]/i

/** The last product, unless every browser has it. */
function lastProduct(text: string): Omit<Agent, 'isBot'> {
  const last = [...text.matchAll(PRODUCT)].at(-1)
  if (
    last === undefined ||
    /^(?:Mozilla|Safari|AppleWebKit|Gecko|Chrome|Firefox)$/.test(last[1]!)
  ) {
    return { name: undefined, version: undefined }
  }
  return { name: last[1], version: last[2] }
}

function versionAt(text: string, index: number): string | undefined {
  return VERSION.exec(text.slice(index, index + 48))?.[1]
}

/** A name and version at the beginning: what most programs other than browsers send. */
export function leadingProduct(text: string): Agent | undefined {
  const match = LEADING_PRODUCT.exec(text)
  if (match === null || /^(?:Mozilla|Opera|Darwin|DoCoMo)$/i.test(match[1]!)) return undefined
  if (/Profile\/MIDP|Configuration\/CLDC/i.test(text)) return undefined
  return { isBot: false, name: match[1]!, version: match[2] }
}

/** Without one of these `ADDRESS` finds nothing. */
const ADDRESS_LETTERS = [':', '@', '+', 'www.'] as const
const REST = String.raw`[^\s;,()<>"'\]]*`
const ADDRESS = new RegExp(
  [
    String.raw`(\+ ?)?(?:\b(?:https?|mailto):${REST}`,
    String.raw`\bwww\.${REST}`,
    String.raw`(?<![\w.-])[\w.-]{1,64}@[\w.-]{1,100})`,
    // Without a scheme: `+example.com/bot`, but not the blanks of `like+Gecko`.
    String.raw`(\+)(?<![\w.]\+)[a-z][\w-]{0,63}\.[a-z]${REST}`,
  ].join('|'),
  'gi',
)

/** The string without URLs and mail addresses: words in them say nothing about the sender. */
export function removeAddresses(text: string): { text: string; address: Address } {
  if (!ADDRESS_LETTERS.some((letters) => text.includes(letters))) {
    return { text, address: 'none' }
  }
  let address: Address = 'none'
  const without = text.replace(ADDRESS, (_, plus?: string, plusHost?: string) => {
    if (plus !== undefined || plusHost !== undefined) address = 'plus'
    else if (address === 'none') address = 'plain'
    return ''
  })
  return { text: without, address }
}
