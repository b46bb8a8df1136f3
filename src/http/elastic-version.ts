/** The Elasticsearch version we report to a client: clients refuse a version that is not theirs. */

/** For clients that do not send their own version. */
const VERSION_DEFAULT = '8.17.0'

/** The version in the `User-Agent` of Elastic's clients and forwarders. */
export function versionFor(userAgent: string): string {
  const match = /(?:elastic|logstash)[a-z-]*\/([0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})/i.exec(userAgent)
  return match?.[1] ?? VERSION_DEFAULT
}

/** Whether this client expects documents in answers to have a type. */
export function isBefore8(userAgent: string, accept: string): boolean {
  const asked = /compatible-with=([0-9]+)/.exec(accept)?.[1]
  return Number.parseInt(asked ?? versionFor(userAgent), 10) < 8
}
