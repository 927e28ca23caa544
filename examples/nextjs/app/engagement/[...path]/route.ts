import { engagement } from '../../engagement'

// What pages ask: comments, the reader, tickets for the stream.
const answer = (request: Request): Promise<Response> => engagement().fetch(request)

export { answer as DELETE, answer as GET, answer as PATCH, answer as POST, answer as PUT }
