/// The disposition of bytes that libcurl delivers.
package enum BodyDisposition: Sendable {
  case accepted
  /// Taken; these directions are held from then on, until `EasyHandle.setPaused`.
  case acceptedThenHolding(FlowDirections)
  /// Not taken: libcurl offers them again after `EasyHandle.setPaused`.
  case paused
  /// The transfer ends with a write error.
  case refused
}

/// The reply to libcurl's request for bytes of the body.
package enum UploadDisposition: Sendable, Equatable {
  /// So many bytes were written to the buffer; at least one.
  case bytes(Int)
  /// None now: libcurl asks again after `EasyHandle.setPaused`.
  case paused
  case end
  /// The body cannot be had: the transfer ends.
  case failed
}

/// The directions in which a transfer is held.
package struct FlowDirections: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  package static let receive = FlowDirections(rawValue: 1)
  package static let send = FlowDirections(rawValue: 2)
}

/// Hears what libcurl's callbacks say of one transfer. Runs inside libcurl: record, and act later.
package protocol EasyHandleDelegate: AnyObject {
  /// One header line with its line end; a blank line ends a head. False ends the transfer, with a write error.
  func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool
  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition
  /// A body's bytes as the wire had them, if `traceBody` has asked for them; each is shown once, also where it waits to be taken.
  func didTraceBody(_ bytes: UnsafeRawBufferPointer)
  /// Asked for the next bytes of a body that was announced with `setUpload`.
  func readBody(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition
  /// Asked to start the body anew; false where that cannot be.
  func rewindBody() -> Bool
  /// Asked for each address before a socket is opened for it.
  func mayConnect(to address: PeerAddress) -> SocketPermission
  /// Asked before a request goes out, also on a connection that is used again.
  func maySendRequest(toAddress address: String) -> Bool
}

extension EasyHandleDelegate {
  package func readBody(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition { .failed }
  package func rewindBody() -> Bool { false }
  package func didTraceBody(_ bytes: UnsafeRawBufferPointer) {}
}
