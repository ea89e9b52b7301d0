import AsyncHTTPClient
import Commands

/// async-http-client on its shared event loops, one for each core.
struct AsyncHTTPClientFetcher: Fetcher {
  private struct NoFile: Error {}

  private let client: HTTPClient

  init(atOnce: Int) {
    var configuration = HTTPClient.Configuration(timeout: .init(connect: .seconds(30), read: .seconds(120)))
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = atOnce
    configuration.httpVersion = .http1Only
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  func fetch(_ url: String, into file: String) async throws {
    let delegate = try FileDownloadDelegate(path: file)
    let progress = try await client.execute(request: HTTPClient.Request(url: url), delegate: delegate).get()
    guard progress.head.status == .ok else { throw NoFile() }
  }

  func end() async {
    try? await client.shutdown().get()
  }
}
