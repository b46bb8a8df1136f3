/** Addresses of stores as they may be shown. */
import { splitHosts } from './clickhouse-hosts.ts'
import { maskPostgresUrl } from './postgres-url.ts'

/** The URL without its password; what is no URL is not shown at all, since it may hold one. */
export function redactUrl(url: string): string {
  const notShown = 'not a URL (not shown, it may hold a password)'
  // May name several servers, which `URL` cannot read.
  if (/^postgres(?:ql)?:/i.test(url)) return maskPostgresUrl(url) ?? notShown
  const [first = url, ...others] = splitHosts(url)
  if (!URL.canParse(first) || new URL(first).pathname.includes('@')) return notShown
  const parsed = new URL(first)
  if (parsed.password !== '') parsed.password = '***'
  parsed.search = '' // PostgreSQL takes `?password=` too.
  const hosts = others.map((other) => (URL.canParse(other) ? new URL(other).host : '?'))
  return parsed.href.replace(parsed.host, [parsed.host, ...hosts].join(','))
}
