/** The path of a request's URL. Its query may contain credentials. */
export const pathOf = (url: string): string => url.split('?', 1)[0] ?? ''
