/** What accept and the decoders of Splunk HEC bodies tell each other. */

/** What events get that do not say it themselves: of the URL. */
export interface HecPartOptions {
  readonly host?: string
  readonly source?: string
  readonly sourcetype?: string
  readonly index?: string
  /** A time that `HecTime` reads. */
  readonly time?: string
}

/** Names of those of them that events have as fields, in the order in which they are written. */
export const HEC_METADATA = ['host', 'source', 'sourcetype', 'index'] as const

/** Why a part failed, in the protocol's words, with its codes. Any other reason is code 6. */
export const HEC_FAULTS = {
  required: { code: 12, text: 'Event field is required' },
  blank: { code: 13, text: 'Event field cannot be blank' },
  fields: { code: 15, text: 'Error in handling indexed fields' },
} as const
