internal import Curl
internal import EventLoop
internal import Glibc
internal import HTTPServer

/// A single health check of a service over HTTP.
package enum HealthProbe {
  package struct Failure: Error, Sendable, CustomStringConvertible {
    package let description: String
  }

  /// Sends a GET request.
  /// - Parameters:
  ///   - host: a numeric address.
  ///   - timeout: the limit for the whole request.
  /// - Returns: the first line of the body of a 200.
  package static func ask(
    host: String, port: Int, path: String, timeout: Duration
  ) async throws(Failure) -> String {
    let authority = ListeningSocket.Address.internet(host: host, port: port).description
    let loop = EventLoop(name: "ferry-health")
    loop.start()
    let result = await withCheckedContinuation { continuation in
      loop.perform {
        let client = CurlClient(loop: loop, maximumIdle: 0)
        let request = HealthRequest(authority, path) { result in
          // A client must not be closed inside libcurl's callback, so this waits for the loop.
          loop.schedule(at: .now) {
            client.close()
            continuation.resume(returning: result)
          }
        }
        do throws(CurlError) {
          try client.start(request, timeout: timeout) { (easy, _) throws(CurlError) in
            try easy.set(.url, to: request.url)
          }
        } catch {
          client.close()
          continuation.resume(
            returning: .failure(Failure(description: "\(request.url): \(error.operation)")))
        }
      }
    }
    await loop.stopAndJoin()
    return try result.get()
  }
}

/// The exchange of a health check. Used on the loop only.
private final class HealthRequest: CurlExchange {
  /// The most bytes of the body that are kept.
  private static let bodyLimit = 16 * 1024

  private let authority: String
  let url: String
  private let done: (Result<String, HealthProbe.Failure>) -> Void
  private var body: [UInt8] = []

  init(
    _ authority: String, _ path: String, done: @escaping (Result<String, HealthProbe.Failure>) -> Void
  ) {
    self.authority = authority
    url = "http://\(authority)\(path)"
    self.done = done
  }

  func end(_ easy: EasyHandle, _ result: CurlResult) { done(judge(easy, result)) }

  private func judge(_ easy: EasyHandle, _ result: CurlResult) -> Result<String, HealthProbe.Failure> {
    func failure(_ text: String) -> Result<String, HealthProbe.Failure> {
      .failure(HealthProbe.Failure(description: text))
    }
    let status: Int = easy.info(.responseCode)
    guard status == 0 || status == 200 else { return failure("\(url) replied with status \(status)") }
    switch result {
    case .ok: return .success(String(String(decoding: body, as: UTF8.self).prefix { !$0.isNewline }))
    case .couldntConnect:
      let reason = String(cString: strerror(Int32(easy.info(.osErrno))))
      return failure("\(authority) cannot be reached: \(reason)")
    case .operationTimedOut: return failure("\(authority) did not reply in time")
    default: return failure("\(url) did not reply in HTTP")
    }
  }

  func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool { true }
  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
    body += bytes.prefix(Self.bodyLimit - body.count)
    return .accepted
  }
  func mayConnect(to address: PeerAddress) -> SocketPermission { .granted }
  func maySendRequest(toAddress address: String) -> Bool { true }
}
