/** What the generated services talk about. Data only; `corpus.ts` says how it is put together. */

export const SERVICES = [
  'checkout',
  'cart',
  'catalog',
  'search',
  'payments',
  'identity',
  'shipping',
  'inventory',
  'reco',
  'notify',
  'pricing',
  'gateway',
] as const

export const REGIONS = ['eu-central-1', 'eu-west-1', 'us-east-1', 'us-west-2'] as const
export const LEVELS = ['info', 'info', 'info', 'info', 'debug', 'debug', 'warn', 'error'] as const
export const METHODS = ['GET', 'GET', 'GET', 'POST', 'POST', 'PUT', 'DELETE'] as const
export const STATUSES = [200, 200, 200, 200, 200, 201, 204, 304, 400, 401, 404, 409, 500, 503]
export const TIERS = ['free', 'free', 'pro', 'team', 'enterprise'] as const

export const TAGS = [
  'canary',
  'stable',
  'mobile',
  'web',
  'batch',
  'internal',
  'partner',
  'beta',
  'k8s',
  'spot',
] as const

/** `#` becomes a number, `$` a short hex id. */
export const ROUTES = [
  '/api/v1/orders/#',
  '/api/v1/orders/#/items',
  '/api/v2/products/#',
  '/api/v2/products/#/reviews',
  '/api/v1/cart/$',
  '/api/v1/cart/$/items/#',
  '/api/v1/users/#/profile',
  '/login',
  '/healthz',
  '/api/v1/search?q=item+#&page=#',
  '/api/v1/payments/$/capture',
  '/static/js/app.$.js',
  '/static/css/main.$.css',
  '/api/v3/shipments/#/track?ref=$',
] as const

export const VIRTUAL_HOSTS = [
  'www.shop.example.com',
  'm.shop.example.com',
  'api.eu.example.com',
] as const

export const REFERERS = [
  'https://shop.example.com/',
  'https://shop.example.com/products/#',
  'https://www.example.org/search?q=item+#',
  'https://m.example.com/cart',
  'https://shop.example.com/checkout/$',
] as const

/** `#` a number, `$` a hex id, `%` an amount of money. Quotes and newlines become escapes. */
export const MESSAGES = [
  'request $ completed in # ms',
  'order $ placed by customer # for % EUR',
  'cache miss (#) for key "session:$", loading from store',
  'payment authorised, reference $ amount % EUR',
  'retrying upstream call after timeout of # ms (attempt # of 5)',
  'user # (session $) signed in from a new device "$"',
  'stock level of sku $ dropped to #',
  'slow query took # ms: SELECT * FROM orders WHERE customer_id = # ORDER BY created_at',
  'upstream closed the connection\n\tat Socket.onClose (net.js:#)\n\tat emit (events.js:#)',
  'feature flag "new_checkout" evaluated to variant # for $',
  'consumed message $ from topic "orders.v#" partition # offset #',
  'Größe des Warenkorbs für Kunde #: % €',
] as const

export const USER_AGENTS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) ' +
    'Chrome/131.0.#.# Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_6_1 like Mac OS X) AppleWebKit/605.1.15 ' +
    '(KHTML, like Gecko) Version/17.6 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) ' +
    'Chrome/130.0.#.# Safari/537.36',
  'Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) ' +
    'Chrome/129.0.6668.# Mobile Safari/537.36',
  'Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:131.0) Gecko/20100101 Firefox/131.0',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 14_6) AppleWebKit/605.1.15 (KHTML, like Gecko) ' +
    'Version/17.6 Safari/605.1.15',
  'okhttp/4.12.#',
  'curl/8.9.1',
  'shop-app/7.#.# (android; build $)',
  'payments-worker/2.# (node $)',
  'okhttp/5.0.#',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
] as const
