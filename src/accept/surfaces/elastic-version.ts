/** Which version of Elasticsearch we are, to whom: clients refuse one that is not theirs. */

/** To clients that do not tell their own. */
const VERSION_DEFAULT = '8.17.0'

/** The version in the `User-Agent` of Elastic's clients and forwarders. */
export function versionFor(userAgent: string): string {
  const match = /(?:elastic|logstash)[a-z-]*\/([0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})/i.exec(userAgent)
  return match?.[1] ?? VERSION_DEFAULT
}

/** Whether documents still have a type in the answers that this client understands. */
export function isBefore8(userAgent: string, accept: string): boolean {
  const asked = /compatible-with=([0-9]+)/.exec(accept)?.[1]
  return Number.parseInt(asked ?? versionFor(userAgent), 10) < 8
}
