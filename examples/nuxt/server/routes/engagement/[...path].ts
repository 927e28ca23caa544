// What pages ask: comments, the reader, tickets for the stream.
export default defineEventHandler((event) => engagement().fetch(toWebRequest(event)))
