/** The third set as events: what leaks, with what must be gone from it, and what must stay. */
import type { Random } from '../../random.ts'
import { drawPattern } from './drawing.ts'
import { ORDINARY_EVENTS } from './ordinary-events.ts'
import { PLAIN_LINES } from './plain-lines.ts'
import { PLAIN_NAMES } from './plain-names.ts'
import { PLAIN_VALUES } from './plain-values.ts'
import { kept, type Scene } from './scene.ts'
import { APP_SCENES } from './scenes-apps.ts'
import { BUILD_SCENES } from './scenes-build.ts'
import { DATA_SCENES } from './scenes-data.ts'
import { EDGE_SCENES } from './scenes-edge.ts'
import { HOST_SCENES } from './scenes-host.ts'
import { WEB_SCENES } from './scenes-web.ts'
import { SECRET_NAMES } from './secret-names.ts'
import { VENDOR_PLACES } from './vendor-places.ts'
import { KNOWN_VENDORS, type VendorFormat } from './vendors-known.ts'
import { OTHER_VENDORS } from './vendors-others.ts'

export interface LeakSample {
  readonly kind: string
  readonly name: string
  /** Where in an event, for what stands in several. */
  readonly place: string
  readonly event: object
  /** Must not be in what comes out, not even in part. */
  readonly cores: readonly string[]
  /** Must be in what comes out. */
  readonly keeps: readonly string[]
}

export interface PlainSample {
  readonly kind: string
  readonly name: string
  /** Must come out as it is. */
  readonly event: object
}

export const SCENES: readonly Scene[] = [
  ...WEB_SCENES,
  ...EDGE_SCENES,
  ...BUILD_SCENES,
  ...HOST_SCENES,
  ...DATA_SCENES,
  ...APP_SCENES,
]

export function drawLeaks(random: Random, samplesEach: number): LeakSample[] {
  return Array.from({ length: samplesEach }, () => [
    ...drawVendors(random, 'vendors, well known', KNOWN_VENDORS),
    ...drawVendors(random, 'vendors, others', OTHER_VENDORS),
    ...drawNames(random),
    ...drawScenes(random),
  ]).flat()
}

/** Every format in every place. */
function drawVendors(random: Random, kind: string, formats: readonly VendorFormat[]): LeakSample[] {
  return formats.flatMap(([name, pattern]) =>
    VENDOR_PLACES.map((place) => {
      const { text, cores } = drawPattern(random, pattern)
      const { keeps = [], event } = place
      return { kind, name, place: place.name, event: event(text), cores, keeps }
    }),
  )
}

const JSON_KEPT = [kept('phase', 'boot'), kept('region', 'eu')]

/** Every name at the root, deeper, and in JSON that a string holds. */
function drawNames(random: Random): LeakSample[] {
  return SECRET_NAMES.flatMap(([name, draw], index) => {
    const draws: [place: string, event: (text: string) => object][] = [
      ['the root', (text) => ({ level: 'debug', msg: 'settings', [name]: text })],
      ['an inner object', (text) => ({ ctx: { items: [{ id: 'a', [name]: text }] } })],
    ]
    const holder = index % 2 === 0 ? 'message' : 'body'
    const { text, cores } = draw(random)
    const inJson = JSON.stringify({ phase: 'boot', [name]: text, region: 'eu' })
    return [
      ...draws.map(([place, event]) => {
        const { text, cores } = draw(random)
        return { kind: 'secret names', name, place, event: event(text), cores, keeps: [] }
      }),
      {
        kind: 'secret names, JSON in strings',
        name,
        place: holder,
        event: { [holder]: inJson },
        cores,
        keeps: JSON_KEPT,
      },
    ]
  })
}

function drawScenes(random: Random): LeakSample[] {
  return SCENES.map(({ kind, name, draw, event, keeps = [] }) => {
    const { text, cores } = draw(random)
    return { kind, name, place: '', event: event(text), cores, keeps }
  })
}

export const PLAIN_TEXTS: readonly string[] = [...PLAIN_VALUES, ...PLAIN_LINES]

export function drawPlain(random: Random, lines: readonly string[]): PlainSample[] {
  return [
    ...PLAIN_NAMES.flatMap(([name, value]) =>
      [
        { level: 'debug', msg: 'settings', [name]: value },
        { ctx: { items: [{ id: 'a', [name]: value }] } },
        { message: JSON.stringify({ phase: 'boot', [name]: value, region: 'eu' }) },
      ].map((event) => ({ kind: 'look-alike names', name, event })),
    ),
    ...PLAIN_TEXTS.flatMap((name) => {
      const { text } = drawPattern(random, name)
      return [
        { message: text },
        { log: `INFO ${text}\n`, stream: 'stdout' },
        { batch: { items: [text] } },
        { message: JSON.stringify({ phase: 'boot', text, region: 'eu' }) },
      ].map((event) => ({ kind: 'look-alike values and lines', name, event }))
    }),
    ...ORDINARY_EVENTS.map((event) => {
      return { kind: 'whole ordinary events', name: JSON.stringify(event), event }
    }),
    ...lines.map((line) => ({ kind: 'log lines', name: line, event: { message: line } })),
  ]
}
