/**
 * Operating systems that `ua-parser-js` does not recognise, or gets wrong: Apple's by the version
 * of their kernel, apps that name the system in their own way, and versions that are not versions.
 */

export interface System {
  readonly name: string | undefined
  readonly version: string | undefined
}

/** First of the versions that a Darwin kernel of this major version belongs to. */
interface DarwinVersions {
  readonly mac: string
  readonly ios: string | undefined
}

const DARWIN_MIN = 5
/** By major version of Darwin, from `DARWIN_MIN` on. */
const DARWIN: readonly DarwinVersions[] = [
  { mac: '10.1', ios: undefined },
  { mac: '10.2', ios: undefined },
  { mac: '10.3', ios: undefined },
  { mac: '10.4', ios: undefined },
  { mac: '10.5', ios: '2' },
  { mac: '10.6', ios: '3' },
  { mac: '10.7', ios: '5' },
  { mac: '10.8', ios: undefined },
  { mac: '10.9', ios: '6' },
  { mac: '10.10', ios: '8' },
  { mac: '10.11', ios: '9' },
  { mac: '10.12', ios: '10' },
  { mac: '10.13', ios: '11' },
  { mac: '10.14', ios: '12' },
  { mac: '10.15', ios: '13' },
  { mac: '11', ios: '14' },
  { mac: '12', ios: '15' },
  { mac: '13', ios: '16' },
  { mac: '14', ios: '17' },
  { mac: '15', ios: '18' },
  { mac: '26', ios: '26' },
]

/** Where versions of iOS had one kernel: from this version of CFNetwork on, to the next line. */
const IOS_BY_CFNETWORK: readonly (readonly [number, string])[] = [
  [459, '3'],
  [485, '4'],
  [548, '5'],
  [602, '6'],
  [672, '7'],
  [673, '8'],
]
const CFNETWORK_TABLE_MAX = 758

const DARWIN_VERSION = /\bDarwin\/(\d{1,3})/
const CFNETWORK_VERSION = /\bCFNetwork\/(\d{1,5})/
/** New programs on new Macs do not say so: without any of these it is a phone or tablet. */
const MAC = /\(x86_64|\(i386|\(arm64\)|\(Power|Mac(?!OS\b)|macOS|OS ?X/

/** Apple's system by its kernel; undefined for strings without one, and where another is named. */
export function darwinSystem(text: string): System | undefined {
  const match = text.includes('Darwin/') ? DARWIN_VERSION.exec(text) : null
  if (match === null || /watchOS|tvOS|AppleTV|Watch\d|iOS[ /]\d|iPhone OS/.test(text)) {
    return undefined
  }
  const cfnetwork = Number(CFNETWORK_VERSION.exec(text)?.[1] ?? 0)
  const versions = DARWIN[Number(match[1]) - DARWIN_MIN]
  if (MAC.test(text) || cfnetwork === 0) return { name: 'macOS', version: versions?.mac }
  if (cfnetwork < CFNETWORK_TABLE_MAX) {
    const line = IOS_BY_CFNETWORK.findLast(([from]) => cfnetwork >= from)
    if (line) return { name: 'iOS', version: line[1] }
  }
  return { name: 'iOS', version: versions?.ios }
}

const IOS =
  /\b(?:(?:iPh(?:one)?|iPad) OS|iOS|iPadOS|iPhone)[/ ;,:]+v?(\d{1,2}(?:[._]\d{1,3}){0,3})(?!\d)/i
const IOS_ALONE = /(?<![a-z])(?:iOS|iPhone|iPad)(?![a-z])/i
const WATCH_OS = /\bwatchOS[ ,/](\d{1,2}(?:\.\d{1,3}){0,3})/
const MAC_OS = /\b(?:Mac ?OS ?X?|OS X)[/ ,]{1,2}(\d{1,2}(?:[._]\d{1,3}){0,3})/i
const TV_OS = /\bApple ?TV|\btvOS/
const TV_VERSION = /(?:\btvOS[/ ,]|OS )(\d{1,2}(?:[._]\d{1,3}){0,3})/
const ADR =
  /\((?:Linux; ?U; ?)(?:Adr|Android)? ?(\d[\d.]{0,11});|\bAndroid \(\d{1,2}\/([\d.]{1,12})/i
/** Amazon's tablets in desktop mode, or with the version left out. */
const KINDLE_FIRE = /\bSilk\/|\bKF[A-Z]{2,6} Build/
const WINDOWS = /\bWindows[ /](?:NT )?(\d{1,2}(?:\.\d)?)\b/
const WINDOWS_ONLY = /^(?:Microsoft[- ](?:CryptoAPI|BITS|WNS|NCSI|Delivery)|Windows-[A-Z]|WinHttp)/
const ROKU = /^Roku\/(?:DVP-)?(\d[\d.]{0,11})/

/** By their version as Windows itself gives it. */
const WINDOWS_NAMES: Readonly<Record<string, string>> = {
  '5.0': '2000',
  '5.1': 'XP',
  '5.2': 'XP',
  '6.0': 'Vista',
  '6.1': '7',
  '6.2': '8',
  '6.3': '8.1',
  '10.0': '10',
}

/**
 * The usual names of systems: of those that would be stored as the string spells them, and of those
 * that their makers have renamed.
 */
const SPELLING: Readonly<Record<string, string>> = {
  'mac os': 'macOS',
  'chromium os': 'Chrome OS',
  linux: 'Linux',
  ubuntu: 'Ubuntu',
  debian: 'Debian',
  fedora: 'Fedora',
  centos: 'CentOS',
  android: 'Android',
  redhat: 'Red Hat',
  'red hat': 'Red Hat',
  kaios: 'KaiOS',
  tizen: 'Tizen',
  playstation: 'PlayStation',
  nintendo: 'Nintendo',
  windows: 'Windows',
  freebsd: 'FreeBSD',
  'windows phone os': 'Windows Phone',
}

/** What the string says beyond what `ua-parser-js` found. */
export function correctSystem(text: string, found: System): System {
  const name = SPELLING[found.name?.toLowerCase() ?? ''] ?? found.name
  const version = found.version === '' ? undefined : found.version
  switch (name) {
    case undefined:
      return namedSystem(text) ?? { name, version }
    case 'iOS':
      return TV_OS.test(text) ? versioned('tvOS', TV_VERSION, text) : iosSystem(text, version)
    case 'macOS':
      if (KINDLE_FIRE.test(text)) return { name: 'Android', version: undefined }
      return version === undefined ? versioned(name, MAC_OS, text) : { name, version }
    case 'Windows':
      return { name, version: windowsVersion(text, version) }
    case 'Android':
      return version === undefined ? { name, version: androidVersion(text) } : { name, version }
    case 'Linux':
      return linuxSystem(text, version)
    case 'Ubuntu':
      // Of a package built for it: `PHP/5.3.2-1ubuntu4.18`.
      return { name, version: /\dubuntu/.test(text) ? undefined : version }
    case 'webOS':
    case 'Solaris':
    case 'Debian':
      return { name, version: numberOnly(version) }
    default:
      return { name, version }
  }
}

/** Systems that only apps and services name in this way. */
function namedSystem(text: string): System | undefined {
  if (TV_OS.test(text)) return versioned('tvOS', TV_VERSION, text)
  if (WATCH_OS.test(text)) return versioned('watchOS', WATCH_OS, text)
  if (IOS.test(text) || IOS_ALONE.test(text)) return versioned('iOS', IOS, text)
  if (MAC_OS.test(text)) return versioned('macOS', MAC_OS, text)
  if (ROKU.test(text)) return versioned('Roku', ROKU, text)
  if (WINDOWS.test(text)) return { name: 'Windows', version: windowsVersion(text, undefined) }
  return WINDOWS_ONLY.test(text) ? { name: 'Windows', version: undefined } : undefined
}

function iosSystem(text: string, version: string | undefined): System {
  if (version !== undefined) return { name: 'iOS', version }
  // Found in the middle of other words, as in `MIDP; Opera`.
  if (!/i(?:phone|pad|pod|os)/i.test(text)) return { name: undefined, version: undefined }
  return versioned('iOS', IOS, text)
}

function linuxSystem(text: string, version: string | undefined): System {
  const android = ADR.test(text) || KINDLE_FIRE.test(text)
  if (android) return { name: 'Android', version: androidVersion(text) }
  return { name: 'Linux', version: numberOnly(version) }
}

function androidVersion(text: string): string | undefined {
  const match = ADR.exec(text)
  return match?.[1] ?? match?.[2]
}

function windowsVersion(text: string, version: string | undefined): string | undefined {
  if (text.includes('Win 9x 4.90')) return 'ME'
  if (version !== undefined && version !== 'NT') return version
  const found = /\bWindows NT (\d{1,2}\.\d)/.exec(text)?.[1] ?? WINDOWS.exec(text)?.[1]
  return found === undefined ? version : (WINDOWS_NAMES[found] ?? found)
}

function versioned(name: string, version: RegExp, text: string): System {
  return { name, version: version.exec(text)?.[1]?.replaceAll('_', '.') }
}

/** Not `x86_64` or `TV`. */
function numberOnly(version: string | undefined): string | undefined {
  return version !== undefined && /^\d/.test(version) ? version : undefined
}
