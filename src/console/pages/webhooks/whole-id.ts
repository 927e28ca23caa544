/** Null for an id that is still typed: the service would refuse it. */
export const wholeId = (text: string | null): string | null =>
  text !== null && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) ? text : null
