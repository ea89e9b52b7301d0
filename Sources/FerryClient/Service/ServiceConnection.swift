internal import Curl
internal import EventLoop
internal import Limits

/// A client of one service, with a thread of its own and persistent connections.
package final class ServiceConnection: @unchecked Sendable {
  // Unchecked: `client` and `roots` belong to the loop's thread.
  package let address: ServiceAddress
  private let loop = EventLoop(name: "ferry-client")
  private let client: CurlClient
  private let rootsFile: String?
  private var roots: CertificateAuthoritySet?

  /// - Parameter certificateAuthorities: a file in PEM; `nil` for the system's.
  package init(_ address: ServiceAddress, certificateAuthorities: String? = nil) {
    self.address = address
    rootsFile = certificateAuthorities
    client = CurlClient(loop: loop, maximumIdle: ClientLimits.idleConnections.value)
    loop.start()
  }

  deinit {
    // The client's handles belong to the loop's thread.
    nonisolated(unsafe) let client = client
    loop.perform { [loop] in
      client.close()
      loop.stop()
    }
  }

  /// Ends all requests and the thread. Later requests fail.
  package func close() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      loop.perform { [self] in
        client.close()
        continuation.resume()
      }
    }
    await loop.stopAndJoin()
  }

  /// Sends a request and returns the whole reply. Any status but 2xx is an error.
  package func send(_ request: ServiceRequest) async throws(ServiceError) -> ServiceReply {
    let stream = try await open(request, timeout: request.timeout)
    return ServiceReply(
      head: stream.head, bytes: try await stream.collect(upTo: request.maximumReply))
  }

  /// Sends a request and returns when the head of the reply has arrived. Any status but 2xx is an error.
  package func stream(_ request: ServiceRequest) async throws(ServiceError) -> ServiceStream {
    try await open(request, timeout: nil)
  }

  /// Returns after the duration, and throws at once if the task is cancelled.
  package func pause(_ duration: Duration) async throws(ServiceError) {
    try await LoopPause(on: loop).wait(duration)
  }

  private func open(_ request: ServiceRequest, timeout: Duration?) async throws(ServiceError) -> ServiceStream
  {
    guard !Task.isCancelled else { throw .cancelled }
    let exchange = ServiceExchange(request, to: address, on: loop, client)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<ServiceHead, ServiceError>, Never>) in
        loop.perform { [self] in
          begin(exchange, timeout: timeout) { continuation.resume(returning: $0) }
        }
      }
    } onCancel: { [loop] in
      loop.perform { exchange.cancel() }
    }
    let stream = ServiceStream(try result.get(), exchange, on: loop)
    let status = stream.head.status
    guard !(200..<300 ~= status) else { return stream }
    let bytes = try await stream.collect(upTo: request.maximumReply)
    guard status < 400 else { throw .problem(ServiceProblem(stream.head, bytes)) }
    throw .invalidReply("the reply has the status \(status), as no service has; check the URL")
  }

  private func begin(
    _ exchange: ServiceExchange, timeout: Duration?,
    _ answer: @escaping (Result<ServiceHead, ServiceError>) -> Void
  ) {
    if address.isTLS, roots == nil {
      do throws(CertificateAuthoritySet.Fault) {
        roots = try CertificateAuthoritySet(file: rootsFile ?? CertificateAuthoritySet.systemFile)
      } catch {
        return answer(.failure(.unreachable("the certificate authorities cannot be read: \(error)")))
      }
    }
    exchange.start(address, roots, timeout: timeout, answer: answer)
  }
}
