/** How services mark texts up, and what must not be taken for markup or a mention. */

export interface Markup {
  /** Of a text that is to be read as it is. */
  readonly literal: (text: string) => string
  /** Both take escaped texts. */
  readonly bold: (text: string) => string
  readonly link: (url: string, label: string) => string
  /** Takes the text as it is. */
  readonly code: (text: string) => string
  readonly lineEnd: string
  /** Bounds of the services, less a reserve. */
  readonly titleMax: number
  readonly textMax: number
}

/** A text that is in a service's markup already. */
export class MarkedUp {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Nobody sees it, and it ends what would be a name. */
const NOTHING = '\u200b'

const asItIs = (text: string) => text

const PLAIN: Markup = {
  literal: asItIs,
  bold: asItIs,
  link: (url) => url,
  code: asItIs,
  lineEnd: '\n',
  titleMax: 250,
  textMax: 8_000,
}

/** Also in code: a mention is one everywhere. */
const noMention = (text: string) => text.replaceAll('@', `@${NOTHING}`)
const fenced = (text: string) => `\`\`\`\n${text.replaceAll('`', "'")}\n\`\`\``

const MARKDOWN: Markup = {
  literal: (text) => noMention(text).replace(/[\\`*_~|[\]<>]/g, '\\$&'),
  bold: (text) => (text === '' ? '' : `**${text}**`),
  link: (url, label) => `[${label}](${url})`,
  code: (text) => fenced(noMention(text)),
  lineEnd: '\n',
  titleMax: 250,
  textMax: 8_000,
}

const escapeSlack = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const SLACK: Markup = {
  literal: escapeSlack,
  bold: (text) => (text === '' ? '' : `*${text}*`),
  link: (url, label) => `<${escapeSlack(url)}|${label}>`,
  code: (text) => fenced(escapeSlack(text)),
  lineEnd: '\n',
  titleMax: 150,
  textMax: 2_900,
}

const noGoogleMention = (text: string) => text.replaceAll('<', `<${NOTHING}`)

export const MARKUPS = {
  slack: SLACK,
  mattermost: MARKDOWN,
  discord: { ...MARKDOWN, textMax: 4_000 },
  // Two line ends: one is a space. Nothing in angle brackets is markup there.
  teams: {
    ...MARKDOWN,
    literal: (text) => text.replace(/[\\`*_[\]]/g, '\\$&'),
    lineEnd: '\n\n',
    textMax: 6_000,
  },
  google_chat: {
    ...SLACK,
    literal: noGoogleMention,
    link: (url, label) => `<${url}|${label}>`,
    code: (text) => fenced(noGoogleMention(text)),
    textMax: 3_500,
  },
  // In bytes, of which a character has up to three.
  ntfy: { ...PLAIN, titleMax: 120, textMax: 1_300 },
  pagerduty: { ...PLAIN, titleMax: 1_000 },
  template: PLAIN,
  email: PLAIN,
} as const satisfies Readonly<Record<string, Markup>>
