/** The elements that a comment's text may have. */
export const TAGS = /^(a|blockquote|br|code|em|h[1-6]|hr|li|ol|p|pre|s|span|strong|ul)$/
/** The addresses that its links may have. */
export const LINKS = /^(https?|mailto):/i
