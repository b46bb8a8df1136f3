/** Channels of ntfy have their topic in the URL; its API wants it in the body. */

export const NO_TOPIC = '"url" must end with a topic of ntfy: letters, digits, "-" and "_"'

/** As ntfy takes them. */
const TOPIC = /^[-_A-Za-z0-9]{1,64}$/

/** Undefined: it does not end with a topic. */
export function trySplitTopic(
  text: string,
): { readonly url: string; readonly topic: string } | undefined {
  const url = new URL(text)
  const [, before = '', written = ''] = /^(.*\/)([^/]*)\/?$/.exec(url.pathname) ?? []
  const topic = written.replace(/%[0-7][0-9a-f]/gi, decodeURIComponent)
  if (!TOPIC.test(topic)) return undefined
  url.pathname = before
  return { url: url.href, topic }
}
