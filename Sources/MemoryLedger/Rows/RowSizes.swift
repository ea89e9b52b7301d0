internal import HTTPFields
internal import JSON
package import Ledger
internal import Records
package import TransferModel

// Estimated sizes of rows in bytes, heap included. Sizes of text are exact, all others approximate.

extension MemoryRows.SessionRow: MemorySized {
  init(_ session: TransferSession, lastIdentifier: Int) {
    self.session = session
    self.lastIdentifier = lastIdentifier
    // Computed once, because it renders the configuration.
    memorySize =
      MemoryLayout<Self>.size + session.configuration.json.count + (session.description?.utf8.count ?? 0)
  }
}

extension MemoryRows.TaskRow: MemorySized {
  /// The approximate size of the requests, the response, the error and the body on the heap, in bytes.
  private static let onHeap = 1024

  package var memorySize: Int {
    var size = MemoryLayout<Self>.size + Self.onHeap + task.textSize + (smallBody?.count ?? 0)
    size += task.originalRequest.headers.heapSize
    if !task.isAtOriginalRequest { size += task.currentRequest.headers.heapSize }
    if let start = task.startRequest { size += start.request.headers.heapSize }
    if let response = task.response {
      size += response.url.utf8.count + response.headers.textSize + response.headers.heapSize
    }
    for transaction in metrics?.transactions ?? [] {
      size += MemoryLayout<TransactionMetrics>.size + transaction.url.utf8.count
    }
    return size
  }
}

extension HTTPHeaders {
  fileprivate var heapSize: Int { fields.count * MemoryLayout<Field>.size }
}

extension JournalFragment: MemorySized {
  package var memorySize: Int { MemoryLayout<Self>.size + bytes.count }
}

extension Decision: MemorySized {
  package var memorySize: Int { MemoryLayout<Self>.size + arguments.count + (answer?.count ?? 0) }
}

extension WebhookDelivery: MemorySized {
  package var memorySize: Int {
    MemoryLayout<Self>.size + payload.count + (webhook?.url.utf8.count ?? 0)
  }
}

struct ReplySize: MemorySized {
  let memorySize: Int

  init(_ reply: IdempotentReply) {
    memorySize = 2 * MemoryLayout<IdempotentReply>.size + reply.body.count + reply.key.text.utf8.count
  }
}

/// A report of the worker to the service, as a document.
struct StoredNews: MemorySized {
  let document: String
  var memorySize: Int { 0 }
}

// Ephemeral sessions have no rows of these types.
extension StoredCommand: MemorySized { package var memorySize: Int { 0 } }
extension StoredWork: MemorySized { package var memorySize: Int { 0 } }
extension StoredCredential: MemorySized { package var memorySize: Int { 0 } }
extension StoredFile: MemorySized { package var memorySize: Int { 0 } }
extension WebhookEndpoint: MemorySized { package var memorySize: Int { 0 } }
extension NamedConfiguration: MemorySized { package var memorySize: Int { 0 } }
extension MemoryRows.CookieRow: MemorySized { package var memorySize: Int { 0 } }
