/** A letter that is more than a base letter with an accent. */
export interface Letter {
  /** In lower case and NFC. */
  letter: string
  /** What searches read for it: a search may find too much. */
  base: string
  /** Word lists keep it apart from its base: a ban must not match too much. */
  isOwn: boolean
}

const withoutMarks = (letter: string): string => letter.normalize('NFD').replace(/\p{M}/gu, '')

const marked = (letters: string): Letter[] =>
  Array.from(letters, (letter) => ({ letter, base: withoutMarks(letter), isOwn: true }))

const rows = (isOwn: boolean, bases: Readonly<Record<string, string>>): Letter[] =>
  Object.entries(bases).map(([letter, base]) => ({ letter, base, isOwn }))

/** Word lists and searches read this table. `search_fold` of the database has the same in SQL. */
export const LETTERS: readonly Letter[] = [
  ...marked('ñäöüå'),
  // Vietnamese: ă, ơ, ư, the hook and the dot below, and second marks.
  ...marked('ăơưảẻỉỏủỷạẹịọụỵấầẩẫậắằẳẵặếềểễệốồổỗộớờởỡợứừửữự'),
  // Cyrillic: й is no и. Not ё, which is mostly written е.
  ...marked('йўїѓќ'),
  ...rows(true, { ı: 'i', đ: 'd', ð: 'd', ħ: 'h', ł: 'l', ø: 'o', ŧ: 't', þ: 'th' }),
  ...rows(false, { ß: 'ss', æ: 'ae', œ: 'oe' }),
  // The forms of the end of a word.
  ...rows(false, { ς: 'σ', ך: 'כ', ם: 'מ', ן: 'נ', ף: 'פ', ץ: 'צ' }),
  // Persian letters, alef with a wasla, and Persian digits.
  ...rows(false, { ک: 'ك', ی: 'ي', ە: 'ه', ٱ: 'ا' }),
  ...rows(false, {
    '۰': '٠',
    '۱': '١',
    '۲': '٢',
    '۳': '٣',
    '۴': '٤',
    '۵': '٥',
    '۶': '٦',
    '۷': '٧',
    '۸': '٨',
    '۹': '٩',
  }),
  // Different words differ in these, though many people write one for the other.
  ...rows(true, { ى: 'ي', ة: 'ه' }),
]

const replacing = (letters: readonly Letter[]): ((text: string) => string) => {
  const bases = new Map(letters.map(({ letter, base }) => [letter, base]))
  const any = new RegExp(`[${[...bases.keys()].join('')}]`, 'gu')
  return (text) => text.replace(any, (letter) => bases.get(letter) ?? letter)
}

/** Replaces the letters that are their base in word lists, too. */
export const withBases = replacing(LETTERS.filter(({ isOwn }) => !isOwn))

/** The kashida stretches Arabic words. It is no letter. */
export const KASHIDA = '\u0640'

/**
 * Accents, and the points of Hebrew and Arabic. Not the marks of Indic or Thai scripts, which are
 * vowels, nor those that make が of か.
 */
export const ACCENTS = /(?![\u3099\u309A])(?=\p{M})[\p{Script=Inherited}\p{Script=Hebrew}\p{Script=Arabic}]/gu
const UNREAD = new RegExp(`${KASHIDA}|${ACCENTS.source}`, 'gu')

const toBases = replacing(LETTERS)

/** A text as searches compare it, without case and accents: `search_fold` of the database. */
export const foldForSearch = (text: string): string =>
  toBases(text.normalize('NFKD').replace(UNREAD, '').toLowerCase().replaceAll('i\u0307', 'i'))
