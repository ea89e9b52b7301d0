import Foundation
import Synchronization

/// An origin that fails a number of times and then succeeds.
package final class FailingOrigin: Sendable {
  private final class Times: Sendable {
    let all = Mutex<[Date]>([])
  }
  private let times = Times()
  private let origin: TestOrigin

  /// - Parameter failure: The status line of a failure. If empty, the connection is closed without a response.
  package init(_ failure: String, _ retryAfter: String?, times limit: Int) {
    let times = times
    origin = TestOrigin { _, socket in
      let count = times.all.withLock { all in
        all.append(Date())
        return all.count
      }
      guard count <= limit else {
        try socket.write(TestOrigin.reply("200 OK", Array("at last".utf8)))
        return true
      }
      guard !failure.isEmpty else { return false }
      try socket.write(
        TestOrigin.reply(failure, Array("no".utf8), retryAfter.map { [("Retry-After", $0)] } ?? []))
      return true
    }
  }

  package var url: String { origin.url }
  package var count: Int { times.all.withLock { $0.count } }
  /// The seconds between successive requests.
  package var pauses: [Double] {
    let all = times.all.withLock { $0 }
    return zip(all.dropFirst(), all).map { $0.timeIntervalSince($1) }
  }
}
