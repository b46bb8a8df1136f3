/**
 * What a user agent string says about browser, system and device. In this order: programs that are
 * not browsers (`find-agent.ts`), what `ua-parser-js` says, corrections of that. A bot gets neither
 * system nor device, as those in its string are only pretended.
 *
 * What a string costs is bounded by its caller's `USER_AGENT_BYTES_MAX` and by the expressions:
 * ours are linear, those of `ua-parser-js` of degree two at worst. The measurements are in
 * docs/decisions/0011-user-agents.md.
 */
import UAParser from 'ua-parser-js'
import { correctSystem, darwinSystem, type System } from './agent-systems.ts'
import { type Agent, findAgent, leadingProduct, removeAddresses } from './find-agent.ts'
import { readableAgent } from './readable-agent.ts'

/** An object's JSON without the keys that have no value, empty without any. */
interface ParsedUserAgent {
  readonly json: string
  readonly fields: number
}

interface Named {
  readonly name?: string | undefined
  readonly version?: string | undefined
}

interface Device {
  readonly model?: string | undefined
  readonly vendor?: string | undefined
  readonly type?: string | undefined
}

const NO_SYSTEM: System = { name: undefined, version: undefined }
const NO_DEVICE: Device = {}
const MAC_DEVICE: Device = { vendor: 'Apple', model: 'Macintosh' }

/**
 * Ordinary browsers on desktops, more than half of most traffic. Their strings name only browser
 * products, so neither names of bots nor the two hundred expressions for devices are tried.
 */
const DESKTOP = new RegExp(
  [
    String.raw`^Mozilla/5\.0 \((?:Windows NT [\d.]+|X11;(?: (?:Ubuntu|Fedora);)? Linux \w+`,
    String.raw`|(Macintosh); Intel Mac OS X [\d._]+)(?:; (?:Win64|x64|WOW64|rv:[\d.]+))*\)`,
    String.raw` (?:AppleWebKit/[\d.]+ \(KHTML, like Gecko\)|Gecko/\d+)`,
    String.raw`(?: (?:Chrome|Version|Safari|Firefox|Edg|OPR|Vivaldi)/[\d.]+)+$`,
  ].join(''),
)

export function parseUserAgent(sent: string): ParsedUserAgent {
  const raw = readableAgent(sent)
  const desktop = DESKTOP.exec(raw)
  if (desktop !== null) {
    const parser = new UAParser(raw)
    const system = correctSystem(raw, systemOf(parser))
    return encode(parser.getBrowser(), system, desktop[1] === undefined ? NO_DEVICE : MAC_DEVICE)
  }
  const { text, address } = removeAddresses(raw)
  const agent = findAgent(text, address, raw)
  if (agent?.isBot === true) return encode(agent, NO_SYSTEM, { type: 'bot' })
  const parser = new UAParser(text)
  const system = darwinSystem(text) ?? correctSystem(text, systemOf(parser))
  return encode(browserOf(text, parser, agent), system, deviceOf(parser))
}

function systemOf(parser: UAParser): System {
  const { name, version } = parser.getOS()
  return { name, version }
}

/** Internet Explorer in compatibility mode names an older version; its engine's is the true one. */
const TRIDENT_TO_IE = 4
const ELECTRON =
  /\(KHTML, like Gecko\) ([A-Za-z][\w.-]{0,63})\/(\d[\w.]{0,31}) Chrome\/[\d.]+ Electron\//

const MESSENGER = /;FBAV\/([\d.]{1,32})/
const UC_WEB = /\bUCWEB(\d[\d.]{0,31})/

function browserOf(text: string, parser: UAParser, agent: Agent | undefined): Named {
  if (agent) return { name: agent.name, version: agent.version ?? MESSENGER.exec(text)?.[1] }
  const { name, version } = parser.getBrowser()
  if (name === 'IE') {
    const engine = /Trident\/(\d{1,2})/.exec(text)
    const own = Number(engine?.[1] ?? 0) + TRIDENT_TO_IE
    const isOlder = engine !== null && Number.parseInt(version ?? '', 10) < own
    return { name, version: isOlder ? `${own}.0` : version }
  }
  if (name === 'Electron') {
    const app = ELECTRON.exec(text)
    if (app) return { name: app[1], version: app[2] }
  }
  if (name !== undefined) return { name, version }
  const uc = UC_WEB.exec(text)
  return uc ? { name: 'UCBrowser', version: uc[1] } : (leadingProduct(text) ?? {})
}

/** Where the model should be: `K` for any, or a language. */
const NO_MODEL = /^(?:K|[a-z]{2}[-_][a-zA-Z]{2})$/

function deviceOf(parser: UAParser): Device {
  const { model, vendor, type } = parser.getDevice()
  return NO_MODEL.test(model ?? '') ? { type } : { model, vendor, type }
}

function encode(browser: Named, system: Named, device: Device): ParsedUserAgent {
  const members = [
    member('browser_family', browser.name),
    member('browser_version', browser.version),
    member('os_family', system.name),
    member('os_version', system.version),
    member('device_family', device.model),
    member('device_brand', device.vendor),
    member('device_type', device.type),
  ].filter((text) => text !== '')
  return { json: members.length === 0 ? '' : `{${members.join()}}`, fields: members.length }
}

function member(key: string, value: string | undefined): string {
  return value === undefined || value === '' ? '' : `"${key}":${JSON.stringify(value)}`
}
