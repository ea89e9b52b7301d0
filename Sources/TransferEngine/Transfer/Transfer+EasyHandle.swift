internal import Addresses
internal import Curl
internal import EngineAPI
internal import TransferModel

/// Handles libcurl's callbacks for a transfer, so that `Transfer` does not depend on the stages.
protocol TransferCallbacks: AnyObject {
  /// - Returns: `false` if the transfer must end.
  func received(header line: UnsafeRawBufferPointer, by transfer: Transfer) -> Bool
  func received(body bytes: UnsafeRawBufferPointer, by transfer: Transfer) -> BodyDisposition
  func readBody(of transfer: Transfer, into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition
}

/// libcurl's callbacks for the request.
extension Transfer: EasyHandleDelegate {
  func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool { receiver.received(header: line, by: self) }

  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
    receiver.received(body: bytes, by: self)
  }

  func didTraceBody(_ bytes: UnsafeRawBufferPointer) { received.chunks?.add(bytes) }

  func readBody(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition {
    receiver.readBody(of: self, into: buffer)
  }

  func rewindBody() -> Bool {
    restartBody()
    return source?.rewind() ?? false
  }

  func mayConnect(to address: PeerAddress) -> SocketPermission {
    guard gate.mayConnect(to: address) == .granted, let destination = IPAddress(address) else {
      return .refused
    }
    return network.record(context.settings.networks.choice(to: destination, allowing: allowedClasses))
  }

  func maySendRequest(toAddress address: String) -> Bool {
    touch()
    // After a 417, libcurl would resend by itself.
    guard machine.lifecycle.next == nil else { return false }
    let permission = connectionProgress.connected(
      lacksBody: lacksBody, isIdempotent: request.isIdempotent, isUnprocessed: easy?.isUnprocessed == true,
      hasBody: bytesTaken == 0 || rewindBody())
    switch permission {
    case .waitForBody, .refuseRepeat: return false
    case .send(let beginsAgain):
      if beginsAgain { noteBegan() }
      return gate.maySendRequest(toAddress: address)
    }
  }
}
