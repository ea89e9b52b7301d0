/// The disposition of bytes that libcurl delivers.
package enum BodyDisposition: Sendable {
  case accepted
  /// The bytes are accepted, and these directions are paused until `EasyHandle.setPaused`.
  case acceptedThenHolding(FlowDirections)
  /// The bytes are not accepted: libcurl offers them again after `EasyHandle.setPaused`.
  case paused
  /// The transfer ends with a write error.
  case refused
}

/// The result of libcurl's request for bytes of the body.
package enum UploadDisposition: Sendable, Equatable {
  /// The number of bytes written to the buffer, at least one.
  case bytes(Int)
  /// No bytes are available: libcurl asks again after `EasyHandle.setPaused`.
  case paused
  case end
  /// The body cannot be read: the transfer ends.
  case failed
}

/// The directions in which a transfer is paused.
package struct FlowDirections: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  package static let receive = FlowDirections(rawValue: 1)
  package static let send = FlowDirections(rawValue: 2)
}

/// The delegate of libcurl's callbacks for one transfer. Its methods run inside libcurl: record, and act later.
package protocol EasyHandleDelegate: AnyObject {
  /// Receives one header line with its line end; a blank line ends a head. Returns `false` to end the transfer with a write error.
  func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool
  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition
  /// Receives a body's bytes as on the wire, after `traceBody` was called. All bytes are passed once, even if the body is paused.
  func didTraceBody(_ bytes: UnsafeRawBufferPointer)
  /// Writes the next bytes of a body that was announced with `setUpload`.
  func readBody(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition
  /// Restarts the body. Returns `false` if that is impossible.
  func rewindBody() -> Bool
  /// Returns whether a socket may be opened for an address. Called for each address.
  func mayConnect(to address: PeerAddress) -> SocketPermission
  /// Returns whether a request may be sent. Called for reused connections too.
  func maySendRequest(toAddress address: String) -> Bool
}

extension EasyHandleDelegate {
  package func readBody(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition { .failed }
  package func rewindBody() -> Bool { false }
  package func didTraceBody(_ bytes: UnsafeRawBufferPointer) {}
}
