package import Limits

/// The limits of clients on what a service, a server's name or a file of the user may demand of them. docs/command-line.md
/// lists all limits.
package enum ClientLimits {
  private static let stops = "the command ends with an error"
  private static let rest = "the rest is not considered"

  // MARK: Replies

  package static let replyBytes = Limit(
    "reply-body", 64 << 20, "a reply that is collected in memory", in: .bytes, beyond: stops)
  package static let headBytes = Limit(
    "reply-head", 64 << 10, "the header fields of a reply", in: .bytes, beyond: stops)
  package static let bufferedBytes = Limit(
    "reply-buffer", 256 << 10, "bytes of a stream that wait for their reader", in: .bytes,
    beyond: "the service must wait")
  /// An event with inline data is one line.
  package static let eventLineBytes = Limit(
    "event-line", 16 << 20, "one line of an event stream, and the data of one event", in: .bytes,
    beyond: stops)
  package static let bodyLineBytes = Limit(
    "body-line", 16 << 20, "one line of `AsyncBytes.lines` in the Swift library", in: .bytes,
    beyond: "the sequence throws an error")
  package static let pageItems = Limit(
    "page-items", 500, "items that a client asks for in one page", beyond: "it asks for further pages")
  package static let idleConnections = Limit(
    "idle-connections", 16, "idle connections to a service", beyond: "the oldest is closed")

  // MARK: Times

  package static let connectSeconds = Limit(
    "connect-time", 10, "time in which a connection must be established", in: .seconds, beyond: stops)
  package static let requestSeconds = Limit(
    "request-time", 60, "time in which the reply to a request must be complete, except streams and bodies",
    in: .seconds, beyond: stops)
  /// The service sends a heartbeat every 15 seconds.
  package static let eventSilenceSeconds = Limit(
    "event-silence", 45, "longest pause between bytes of an event stream", in: .seconds,
    beyond: "the client connects again")
  package static let reconnectSeconds = Limit(
    "reconnect-pause", 15, "longest pause before an event stream is opened again", in: .seconds,
    beyond: "a longer `retry` field is shortened to this pause")

  package static let outageSeconds = Limit(
    "outage", 300, "time for which `ferry get` and `ferry watch` try to reach a service again", in: .seconds,
    beyond: stops)

  // MARK: Commands

  package static let inputBytes = Limit(
    "input", 64 << 20, "a list of URLs, and other text files that the user names", in: .bytes, beyond: stops)
  package static let searchedDecisions = Limit(
    "searched-decisions", 500, "sessions, and decisions of one session, that `ferry answer` reads",
    beyond: rest)
  package static let searchedDeliveries = Limit(
    "searched-deliveries", 5000, "newest deliveries among which `ferry hooks` finds a short id", beyond: rest)
  package static let listedMatches = Limit(
    "listed-matches", 10, "ids that the error about an ambiguous id lists", beyond: "it ends with an ellipsis"
  )
  package static let topRows = Limit(
    "top-rows", 1000, "tasks of `ferry top`", beyond: "older tasks are not shown")
  package static let fileNameBytes = Limit(
    "file-name", 255, "the name of a downloaded file, with its number", in: .bytes,
    beyond: "it is shortened before its extension")
  package static let fileNumbers = Limit(
    "file-numbers", 10_000, "numbers that are tried for a name that exists", beyond: "the file fails")
  package static let contextsBytes = Limit(
    "contexts", 1 << 20, "the file of contexts", in: .bytes, beyond: stops)
  package static let answerBytes = Limit(
    "answer", 16 << 10, "a line that is typed on the terminal", in: .bytes, beyond: "the rest is left out")

  /// All limits, in the order of the page.
  package static let all: [Limit] = [
    replyBytes, headBytes, bufferedBytes, eventLineBytes, bodyLineBytes, pageItems, idleConnections,
    connectSeconds,
    requestSeconds,
    eventSilenceSeconds, reconnectSeconds, outageSeconds, inputBytes, searchedDecisions, searchedDeliveries,
    listedMatches, topRows,
    fileNameBytes, fileNumbers, contextsBytes, answerBytes,
  ]
}
