import Commands
import Foundation
import FoundationNetworking
import Glibc

/// FoundationNetworking's URLSession. `TMPDIR` must be on the file system of the directory, so that a move does not copy.
struct URLSessionFetcher: Fetcher {
  private let session: URLSession

  init(atOnce: Int) {
    let configuration = URLSessionConfiguration.default
    configuration.httpMaximumConnectionsPerHost = atOnce
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    session = URLSession(configuration: configuration)
  }

  func fetch(_ url: String, into file: String) async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      session.downloadTask(with: URL(string: url)!) { location, response, error in
        guard let location, (response as? HTTPURLResponse)?.statusCode == 200 else {
          return done.resume(throwing: error ?? URLError(.badServerResponse))
        }
        // The temporary file is deleted after this function returns. FileManager would do much more work than rename.
        guard rename(location.path, file) == 0 else {
          return done.resume(throwing: URLError(.cannotMoveFile))
        }
        done.resume()
      }.resume()
    }
  }

  func end() {
    session.finishTasksAndInvalidate()
  }
}
