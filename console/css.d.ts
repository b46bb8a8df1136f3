/** Styles are bundled by their imports. */
declare module '*.css'
